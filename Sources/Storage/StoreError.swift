/// What went wrong at a target: a code for programs, a message for the log, a hint for the person, the cause.
///
/// The adapter that saw the answer decides what it means and whether trying again can help (`retry`); the
/// wrappers only obey.
package struct StoreError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// There is no such object.
    case notFound
    /// `put(ifAbsent:)` found other bytes under the name.
    case exists
    /// The target itself (bucket, folder, collection) is not there.
    case noTarget
    /// The server does not know who we are: wrong key, wrong secret, wrong password, expired token.
    case unauthenticated
    /// The server knows us and says no.
    case forbidden
    /// The clocks of this machine and of the server differ too much for signed requests.
    case clockSkew
    /// No space, or a quota is used up. Trying again does not help.
    case full
    /// Too many requests, or the server is busy.
    case throttled
    /// The server failed, or the connection was cut.
    case unavailable
    /// The server's certificate, or TLS itself, was refused.
    case tls
    /// A redirect: followed never, so that credentials go nowhere else.
    case redirected
    /// The range lies outside the object.
    case badRange
    /// The answer makes no sense: wrong length, hostile names, broken XML, a body over its bound.
    case badAnswer
    /// The target cannot do what we need (no PROPFIND, no signature version 4).
    case unsupported
    /// A local file could not be read or written.
    case fileSystem
    /// The object is there, and its bytes cannot be had: a bad sector, a checksum of the file system, an archive.
    case unreadable
    /// The request was cancelled.
    case cancelled
  }

  /// Whether the same request may succeed when made again.
  package enum Retry: Sendable, Equatable {
    case never
    /// At once, and no more than that: the answer may not have been the target's, but a proxy's or a portal's; or none came
    /// in all the time that there is for it.
    case once
    /// With growing pauses; not before `after` when the server named a time.
    case later(after: Duration?)
  }

  package var code: Code
  /// What happened to what; lower case, no full stop, never a secret.
  package var message: String
  /// What to do, as a whole sentence, with a command in it where there is one.
  package var hint: String?
  package var retry: Retry
  package var cause: (any Error)?
  /// The object that was to be read, where the target answers: others may be had all the same.
  package var object: ObjectName?

  package init(
    _ code: Code, _ message: String, hint: String? = nil, retry: Retry = .never, cause: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.retry = retry
    self.cause = cause
  }

  /// What it was asked for is lost there: the object is gone, or its bytes are.
  package var isLoss: Bool { [.notFound, .unreadable].contains(code) }

  package var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}
