import Repositories
import Sealing
import Snapshots
import Storage

extension OperationError {
  /// What a person hears for an error of the layers below. Errors gain context on the way up (`doing`: "pushing 'app' to
  /// backup"), they are not invented anew.
  package init(_ error: any Error, doing context: String? = nil) {
    switch error {
    case let error as OperationError: self = error
    case is CancellationError: self.init(.cancelled, "interrupted", cause: error)
    case let error as SnapshotError:
      self.init(
        Self.kind(of: error.code), code: "\(error.code)", error.message, hint: error.hint, cause: error)
    case let error as StoreError:
      self.init(Self.kind(of: error.code), code: error.code.rawValue, error.message, hint: error.hint, cause: error)
    case let error as SealError:
      self.init(
        Self.kind(of: error.code), code: "\(error.code)", error.message, hint: error.hint, cause: error)
    case let error as RepositoryError:
      self.init(Self.kind(of: error.code), code: error.code.rawValue, error.message, hint: error.hint, cause: error)
    default: self.init(.failed, "\(error)", cause: error)
    }
    if let context, kind != .cancelled, !message.hasPrefix(context) { message = "\(context): \(message)" }
  }

  /// What lies beneath it, each in its own words, but for what is said already: on its way up an error keeps its words.
  package var causes: [String] {
    var (said, causes, next) = (message, [String](), cause)
    while let error = next {
      let told = Self.told(of: error)
      if !said.contains(told.words) {
        causes.append(told.words)
        said = told.words
      }
      next = told.cause
    }
    return causes
  }

  private static func told(of error: any Error) -> (words: String, cause: (any Error)?) {
    switch error {
    case let error as OperationError: (error.message, error.cause)
    case let error as SnapshotError: (error.message, error.cause)
    case let error as RepositoryError: (error.message, error.cause)
    case let error as StoreError: (error.message, error.cause)
    case let error as SealError: (error.message, nil)
    default: ("\(error)", nil)
    }
  }

  /// Files that were copied to another place are no second repository: what this machine has seen at the one it would
  /// miss at the other.
  static func sameRepository(
    _ repository: RepositoryID, at target: TargetAccess, as other: TargetAccess
  ) -> OperationError {
    let same = "it holds the same repository as \(other.name), \(repository.hex)"
    if target.hasAddress(of: other) {
      return OperationError(
        .usage, code: "sameRepository", "\(same): both have the address \(target.store.traits.location)",
        hint: "Push to one of them only: name that one in the \"targets\" of the database.")
    }
    return OperationError(
      .usage, code: "sameRepository", same,
      hint:
        "Push to one of them only. A second target is made by `sealift init` and `sealift copy`, not of copied files.")
  }

  private static func kind(of code: SealError.Code) -> Kind {
    switch code {
    case .wrongKey: .wrongKey
    case .damaged, .truncated, .malformed, .unsupported: .verificationFailed
    case .failed: .failed
    }
  }

  private static func kind(of code: SnapshotError.Code) -> Kind {
    switch code {
    case .cancelled: .cancelled
    case .query, .plainDatabase, .connection, .pageSize, .encoding, .reservedBytes, .table: .usage
    case .damagedCopy: .verificationFailed
    // Of this machine, not of the database.
    case .noSpace, .spool, .diskFailed, .notRolledBack, .untrustedLocks: .failed
    default: .sourceUnreadable
    }
  }

  private static func kind(of code: StoreError.Code) -> Kind {
    switch code {
    case .cancelled: .cancelled
    case .noTarget: .noRepository
    case .unreadable: .verificationFailed
    default: .failed
    }
  }

  private static func kind(of code: RepositoryError.Code) -> Kind {
    switch code {
    case .noRepository: .noRepository
    case .repositoryExists, .ambiguousRepository, .slotNeeded: .usage
    case .wrongKey: .wrongKey
    case .damaged, .rolledBack, .forked, .hole, .incomplete: .verificationFailed
    case .noSuchVersion: .noSuchVersion
    case .locked: .pushInProgress
    case .unsupported, .conflict, .noLane, .stateFolder, .noSpace: .failed
    }
  }
}

extension TargetAccess {
  /// Whoever we are there: of WebDAV the identity of a store names the user, too.
  fileprivate func hasAddress(of other: TargetAccess) -> Bool {
    let (this, other) = (store.traits, other.store.traits)
    return this.identity == other.identity || this.location == other.location && this.location.hasPrefix("webdav")
  }
}
