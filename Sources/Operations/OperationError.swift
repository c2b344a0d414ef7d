/// What a person hears when an operation fails: what happened to what, and the way out.
///
/// `kind` decides the exit status, `code` is the stable word scripts match in `--json`.
package struct OperationError: Error, CustomStringConvertible {
  /// One case per exit status of the command line; the table is in README.
  package enum Kind: String, Sendable, CaseIterable {
    /// 1: something failed, and none of the others says what.
    case failed
    /// 2: a flag, an argument or the configuration is wrong.
    case usage
    /// 3: a database, target or companion failed, the rest is safe.
    case partlyDone
    /// 10: there is no repository at the target.
    case noRepository
    /// 11: someone else is pushing this database from here.
    case pushInProgress
    /// 12: the key does not open the repository.
    case wrongKey
    /// 13: what was read is damaged, forged, rolled back, or fails its own check.
    case verificationFailed
    /// 14: no version answers to that name.
    case noSuchVersion
    /// 15: the database cannot be read.
    case sourceUnreadable
    /// 129, 130 or 143: a signal ended it.
    case cancelled
  }

  package var kind: Kind
  package var code: String
  package var message: String
  package var hint: String?
  package var cause: (any Error)?

  package init(
    _ kind: Kind, code: String? = nil, _ message: String, hint: String? = nil, cause: (any Error)? = nil
  ) {
    self.kind = kind
    self.code = code ?? kind.rawValue
    self.message = message
    self.hint = hint
    self.cause = cause
  }

  /// The same, of something that does not leave everything as it was: nobody passes over what it says as over that of one
  /// that was only interrupted.
  package func leaving(_ state: String, hint: String? = nil) -> OperationError {
    let isCut = kind == .cancelled
    return OperationError(
      isCut ? .failed : kind, code: isCut ? "cutShort" : code, message + state, hint: hint ?? self.hint, cause: cause)
  }

  package var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}
