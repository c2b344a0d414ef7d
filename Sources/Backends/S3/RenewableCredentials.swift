package import Storage

/// Credentials that somebody else renews where they were found: temporary ones last an hour, and a long push or restore
/// lasts many. They are kept until a server no longer takes them; then they are looked up again.
package actor RenewableCredentials {
  private var held: S3Credentials?
  private let clock: StoreClock
  private let first: @Sendable () throws(StoreError) -> S3Credentials
  private let find: @Sendable () throws -> S3Credentials
  private var lookedUp: Duration?

  /// The lookup may run a command, or read a file that another program writes now: not for each refusal.
  private static let interval = Duration.seconds(60)

  /// - Parameter find: looks them up; what it throws is nobody's news, for the refusal is.
  package init(
    _ current: S3Credentials, clock: StoreClock = .system, find: @escaping @Sendable () throws -> S3Credentials
  ) {
    self.init(clock: clock, first: { () throws(StoreError) in current }, find: find)
  }

  /// - Parameter first: looks them up for the first request: who makes none needs none.
  package init(
    clock: StoreClock = .system, first: @escaping @Sendable () throws(StoreError) -> S3Credentials,
    find: @escaping @Sendable () throws -> S3Credentials
  ) {
    self.clock = clock
    self.first = first
    self.find = find
  }

  /// What to send.
  package func current() throws(StoreError) -> S3Credentials {
    if let held { return held }
    let found = try first()
    held = found
    return found
  }

  /// What to send in place of credentials that were refused; `nil` where nothing else is known. Of many requests that are
  /// refused at once one looks, and the others wait here for what it finds.
  func newer(than refused: S3Credentials) -> S3Credentials? {
    guard held == refused else { return held }
    let now = clock.now()
    if let lookedUp, now - lookedUp < Self.interval { return nil }
    lookedUp = now
    guard let found = try? find(), found != refused else { return nil }
    held = found
    return found
  }
}
