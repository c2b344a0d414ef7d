/// The moments and costs of one held read transaction.
final class ReadTransaction {
  private let walPath: String
  private let maxWalGrowth: Int?
  private var walBefore = 0
  private var began = ContinuousClock.now
  /// Milliseconds since 1970, UTC.
  private(set) var takenAt: Int64 = 0
  /// How long the transaction was held, in the end.
  private(set) var held: Duration = .zero
  /// Bytes, in the end.
  private(set) var walGrowth = 0

  init(of database: String, maxWalGrowth: Int?) {
    walPath = database + "-wal"
    self.maxWalGrowth = maxWalGrowth
  }

  /// Called when the lock is asked for, and again after each wait for it: the last time counts.
  func begins() {
    takenAt = millisecondsSince1970()
    began = .now
    walBefore = fileSize(walPath) ?? 0
  }

  /// - Throws: `.walGrowth`.
  func demandModestWal() throws(SnapshotError) {
    guard let limit = maxWalGrowth else { return }
    let growth = (fileSize(walPath) ?? 0) - walBefore
    guard growth > limit else { return }
    throw SnapshotError(
      .walGrowth, "\(walPath) grew by \(growth) bytes while the snapshot was taken; \(limit) were allowed",
      hint: "Take the snapshot at a quieter time, or raise maxWalGrowth.")
  }

  func ends() {
    held = .now - began
    walGrowth = max(0, (fileSize(walPath) ?? 0) - walBefore)
  }
}
