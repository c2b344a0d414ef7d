import Glibc
package import Sealing
import Storage

/// The local side of one repository: what this machine remembers of it, beside what it remembers of places.
///
/// ```
/// <state>/places/<hash of a store>               the repositories this machine has met there (`KnownRepositories`)
/// <state>/places/<hash of a store>.bad           what stood there when it was found spoilt
/// <state>/<repository id>/objects/<name>         sealed directories, manifests and records, and lists of units, kept to save requests
/// <state>/<repository id>/keyring.json           the newest keyring this machine has seen
/// <state>/<repository id>/configuration.json     the newest configuration it has opened, sealed (`ConfigurationMemory`)
/// <state>/<repository id>/slot                   the slot that opened last (`SlotMemory`)
/// <state>/<repository id>/<chain id>/mark.json   the newest version this machine pushed or saw (its high-water mark), and the last it pushed
/// <state>/<repository id>/<chain id>/versions    what its manifests say, sealed (`KeptVersions`)
/// <state>/<repository id>/<chain id>/kept-<kind> what its records of one kind say, sealed (`KeptRecords`)
/// <state>/<repository id>/<chain id>/journal     packs of a push or repair that has not ended
/// <state>/<repository id>/<chain id>/attempt     the manifest that was tried last (`ManifestAttempt`)
/// <state>/<repository id>/<chain id>/words/      what this machine stored or read and no gap would tell of (`OwnWords`)
/// <state>/<repository id>/<chain id>/given-up/   tombstones over lost versions, to be looked behind (`OpenTombstones`)
/// <state>/<repository id>/<chain id>/records     when it saw condemned records first (`SeenRecords`)
/// <state>/<repository id>/<chain id>/damaged     packs that nothing refers to any more (`DamagedPacks`)
/// <state>/<repository id>/<chain id>/stale       packs that little of is used, to be written anew (`StalePacks`)
/// <state>/<repository id>/<chain id>/doubted     versions that no push may build on (`DoubtedVersions`)
/// <state>/<repository id>/<chain id>/harmed      versions that a check found harmed (`HarmedVersions`)
/// <state>/<repository id>/<chain id>/copies      what `copy` saw standing there (`SeenCopies`)
/// <state>/<repository id>/<chain id>/lock        held while a push runs, by a copy or a repair too, and while the mark is raised
/// ```
package struct StateFolder: Sendable {
  package let path: String
  package let repository: RepositoryID

  /// For writing: a push needs a journal.
  /// - Throws: `.stateFolder` when the folder cannot be made.
  package init(_ state: String, repository: RepositoryID) throws(RepositoryError) {
    self.init(reading: state, repository: repository)
    try StateFiles.makeFolder(objects.path)
  }

  /// For reading what was remembered; it need not be there, and what cannot be kept in it is not.
  package init(reading state: String, repository: RepositoryID) {
    self.path = "\(state)/\(repository.hex)"
    self.repository = repository
  }

  var objects: KeptObjects { KeptObjects(path: "\(path)/objects") }

  /// Makes the folder of a chain.
  func folder(of chain: ChainID) throws(RepositoryError) -> String {
    let folder = "\(path)/\(chain.hex)"
    try StateFiles.makeFolder(folder)
    return folder
  }

  /// Hexadecimal ids of the chains that have a mark here.
  package func markedChains() -> [String] {
    StateFiles.names(in: path).filter { $0.utf8.count == 32 && access("\(path)/\($0)/mark.json", F_OK) == 0 }.sorted()
  }

  /// Sealed bytes kept from an earlier read, or `nil`. Whoever uses them opens them again: nothing here is trusted.
  func kept(_ name: String) -> [UInt8]? { objects.read(name) }

  /// What all of it is called.
  var keptNames: [String] { StateFiles.names(in: objects.path) }

  /// Keeps sealed bytes. A cache that cannot be written is no reason to fail.
  func keep(_ bytes: [UInt8], as name: String) { objects.write(bytes, as: name) }

  /// Once a day: removes what nobody needs any more, and what processes that died left half written. So it does for the
  /// other repositories in the state folder: those that are used no more have nobody else to do it.
  package func tidy() {
    guard tidyOwn() else { return }
    let state = PathSteps.folder(of: path)
    for name in StateFiles.names(in: state) where name != repository.hex {
      guard let other = RepositoryID(hex: name), other.hex == name else { continue }
      StateFolder(reading: state, repository: other).tidyOwn()
    }
  }

  /// Marks, words and whatever else protects stay.
  /// - Returns: whether it looked.
  @discardableResult
  private func tidyOwn() -> Bool {
    guard objects.tidy() else { return false }
    for folder in [path] + StateFiles.names(in: path).filter({ $0.utf8.count == 32 }).map({ "\(path)/\($0)" }) {
      StateFiles.removeAbandoned(in: folder)
    }
    return true
  }

  func drop(_ name: String) { objects.remove(name) }

  /// Drops what is kept of a pack that is not at the target any more: its directory, and its list of units, which would
  /// stay for a year.
  func drop(pack name: Digest) {
    drop("\(name.hex).directory")
    drop(UnitList.name(of: name))
    drop(UnitList.passingName(of: name))
  }
}

/// The lock of one chain on this machine, released when the value goes, also when the process is killed.
package final class ChainLock: Sendable {
  private let descriptor: Int32

  /// - Throws: `.locked` when another process holds it.
  package init(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    let path = try state.folder(of: chain) + "/lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      let number = errno
      // A push has its lock before it looks for its mark: nobody else would say what stands in the way of both.
      let isInTheWay = number == ENOTDIR && StateFiles.isOther(thanFolder: PathSteps.folder(of: path))
      throw RepositoryError(
        .stateFolder, "cannot open \(path): \(String(cString: strerror(number)))",
        hint: isInTheWay ? StateFiles.wayOut(of: path) : nil)
    }
    let problem = Self.lock(descriptor)
    guard problem == 0 else {
      close(descriptor)
      guard problem == EWOULDBLOCK else {
        throw RepositoryError(
          .stateFolder, "cannot lock \(path): \(String(cString: strerror(problem)))",
          hint: "Name a state folder on a file system that knows locks.")
      }
      throw RepositoryError(
        .locked, "another push of this database is running on this machine",
        hint: "Wait until it has ended, then push again.")
    }
    self.descriptor = descriptor
  }

  deinit {
    // A child that was forked and has not begun its own program yet holds the file too, and with it the lock.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// A reader that raises the mark holds the lock for an instant; a push holds it for long: half a second tells them apart.
  /// - Returns: 0, or the number of the error; `EWOULDBLOCK` when another has the lock.
  private static func lock(_ descriptor: Int32) -> Int32 {
    for _ in 0..<25 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return 0 }
      guard [EWOULDBLOCK, EINTR].contains(errno) else { return errno }
      usleep(20_000)
    }
    return EWOULDBLOCK
  }
}
