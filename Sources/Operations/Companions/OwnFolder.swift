import Repositories
import Storage

/// A folder of this machine in which Sealift itself keeps what changes with each push: it never comes with a database. An
/// older copy in its place would undo what was pushed since.
package struct OwnFolder: Sendable, Equatable {
  package let path: String
  /// As people are told of it: "the repository of nas".
  let name: String
  /// What is in it is trusted by nobody, and may be gone.
  let isDispensable: Bool

  private init(_ path: String, _ name: String, isDispensable: Bool = false) {
    self.path = path
    self.name = name
    self.isDispensable = isDispensable
  }

  package static func repository(of target: String, at path: String) -> OwnFolder {
    OwnFolder(path, "the repository of \(target)")
  }

  package static func state(_ path: String) -> OwnFolder { OwnFolder(path, "the state folder") }

  /// Of the images that are kept for deltas.
  package static func bases(of database: String, at path: String) -> OwnFolder {
    OwnFolder(path, "the base folder of '\(database)'", isDispensable: true)
  }

  /// Those that are there, by what they are: a path may lead to one by a link or a second mount. Nobody waits for a server of
  /// files, as that of a target which is not asked may be away for ever.
  static func identities(of folders: [OwnFolder]) -> [FileIdentity: OwnFolder] {
    folders.reduce(into: [:]) { known, folder in
      guard let identity = FileIdentity(ofFolderKnownAt: folder.path), known[identity] == nil else { return }
      known[identity] = folder
    }
  }
}

extension World {
  /// All that are known to a push.
  func ownFolders(of database: DatabaseSource, at targets: [TargetAccess]) -> [OwnFolder] {
    var folders = configuredFolders
    folders.append(.state(stateFolder))
    if let bases = database.baseFolder { folders.append(.bases(of: database.name, at: bases)) }
    for target in targets {
      if let folder = target.store.traits.folder { folders.append(.repository(of: target.name, at: folder)) }
    }
    return folders
  }

  /// Those whose loss a restore would not notice, or not survive.
  func ownFolders(for found: FoundVersion) -> [OwnFolder] {
    var folders = configuredFolders.filter { !$0.isDispensable }
    folders.append(.state(stateFolder))
    if let folder = found.repository.store.traits.folder {
      folders.append(.repository(of: found.summary.target, at: folder))
    }
    return folders
  }
}

extension CompanionListing {
  /// A companion that is left out as a whole is a mistake in the configuration; what lies in one is only told.
  /// - Throws: `.usage`.
  func demandNoneOwn(_ database: DatabaseSource) throws(OperationError) {
    for companion in database.companions {
      guard let own = own.first(where: { MemberPath.isSame($0.path, companion.memberPath) }) else { continue }
      throw database.mistaken(companion, own.name)
    }
  }
}

extension DatabaseSource {
  /// - Parameter own: what the companion is.
  func mistaken(_ companion: Companion, _ own: String) -> OperationError {
    OperationError(
      .usage, code: "badCompanions", "'companions' of '\(name)' has '\(companion.path)', which is \(own)",
      hint: "Name what the application keeps there; of a folder around it all else comes along.")
  }
}
