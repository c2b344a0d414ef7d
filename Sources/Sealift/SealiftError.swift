public import FoundationEssentials
import Operations

/// What went wrong, and the way out.
///
/// Everything in this library throws `SealiftError`, with two exceptions: work of a task that was cancelled throws
/// `CancellationError`, and what a progress callback throws is passed on as it is.
///
/// ```swift
/// do {
///   try await repository.pull("latest", to: "/srv/app/restored.db")
/// } catch let error as SealiftError {
///   switch error.kind {
///   case .verificationFailed: alarm(error.message)
///   case .noSuchVersion: break
///   default: log("\(error.message) \(error.hint ?? "")")
///   }
/// }
/// ```
public struct SealiftError: Error, CustomStringConvertible {
  /// What kind of failure it is: few enough to decide by. More may be added.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// Something failed, and none of the others says what: the network, a server, a disk.
    public static let failed = Kind(.failed)
    /// An argument makes no sense here, or would overwrite something.
    public static let usage = Kind(.usage)
    /// It is done, and not all of it: never thrown, see ``Repository/Pushed/shortfalls``.
    public static let partlyDone = Kind(.partlyDone)
    /// There is no repository at the target.
    public static let noRepository = Kind(.noRepository)
    /// Someone else is pushing this database with the same state folder.
    public static let pushInProgress = Kind(.pushInProgress)
    /// The key does not open the repository.
    public static let wrongKey = Kind(.wrongKey)
    /// What was read is damaged, forged, rolled back, or fails its own check.
    public static let verificationFailed = Kind(.verificationFailed)
    /// No version answers to that name.
    public static let noSuchVersion = Kind(.noSuchVersion)
    /// The database cannot be read: missing, locked for too long, encrypted, or no database at all.
    public static let sourceUnreadable = Kind(.sourceUnreadable)

    /// One word, as in the command line's `--json`.
    public let description: String

    init(_ kind: OperationError.Kind) { description = kind.rawValue }
  }

  public var kind: Kind
  /// A stable word for programs, finer than `kind`, such as `busy`, `noSpace` or `destinationExists`. All of them stand in
  /// the package's `Docs/Json.md`, under "Codes".
  public var code: String
  /// What happened to what; begins small and ends without a full stop. Never holds a secret.
  public var message: String
  /// What to do, as a whole sentence. Some hints name commands of the command line `sealift`.
  public var hint: String?
  /// The error below this one, for logs.
  public var cause: (any Error)?

  public var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}

/// Where errors are shown by their `localizedDescription`. They are in English only.
extension SealiftError: LocalizedError {
  public var errorDescription: String? { message }
  public var recoverySuggestion: String? { hint }
}

extension SealiftError {
  init(_ error: OperationError) {
    self.init(
      kind: Kind(error.kind), code: error.code, message: error.message, hint: error.hint, cause: error.cause)
  }
}

/// What an application threw from a progress callback, on its way through our layers.
struct Abort: Error {
  let reason: any Error
}

/// An error as this library lets it out.
func told(_ error: any Error, doing context: String? = nil) -> any Error {
  switch error {
  case let abort as Abort: return abort.reason
  case is CancellationError, is SealiftError: return error
  default:
    let known = OperationError(error, doing: context)
    return known.kind == .cancelled ? CancellationError() : SealiftError(known)
  }
}
