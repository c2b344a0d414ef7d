import Glibc
import Sealing
import Storage

/// The packs of a version, opened: keys derived, directory at hand. The latest are kept: of some ten GiB of content, as
/// whoever reads frames needs no fingerprints of their units.
final class OpenPacks: Sendable {
  struct Pack: Sendable {
    let entry: PackEntry
    let keys: ObjectKeys
    let directory: Directory
  }

  /// Directories kept, in bytes of memory.
  static let limit = 5 << 20

  let table: PackTable
  let repository: Repository
  let chain: ChainID
  private let state: StateFolder?
  private let keepsFingerprints: Bool
  private let shelf = Locked(Shelf())
  /// Directories that are on their way, by the number of the pack: the map may be read meanwhile, and need one of them.
  private let fetches = Locked<[UInt32: Task<Pack?, any Error>]>([:])

  /// - Parameter keepsFingerprints: records of frames say those of their units.
  init(
    _ table: PackTable, repository: Repository, chain: ChainID, state: StateFolder?, keepsFingerprints: Bool = false
  ) {
    self.table = table
    self.repository = repository
    self.chain = chain
    self.state = state
    self.keepsFingerprints = keepsFingerprints
  }

  /// What is kept of it, at no cost.
  func kept(_ number: UInt32) -> Pack? { shelf.withLock { $0.take(number) } }

  /// - Throws: `.damaged` when no such pack is in the table or at the target; `SealError`; `StoreError`.
  func open(_ number: UInt32) async throws -> Pack {
    while true {
      if let pack = kept(number) { return pack }
      guard let entry = table[number] else {
        throw RepositoryError(.damaged, "a map names pack \(number), which is not in the pack table")
      }
      let (fetch, isOwn) = sharing(number) {
        let directory = try await self.directory(of: entry)
        let pack = try self.pack(entry, directory)
        self.shelf.withLock { $0.put(pack, limit: Self.limit) }
        return pack
      }
      if isOwn {
        if let pack = try await Self.value(of: fetch) { return pack }
      } else if let pack = try? await fetch.value {
        return pack
      }
      // Whoever asked for it has put it into the state folder, or was cancelled.
      try Task.checkCancellation()
    }
  }

  private func directory(of entry: PackEntry) async throws -> Directory {
    do {
      return try await repository.directory(of: entry, chain: chain, state: state)
    } catch let error as SealError {
      throw error.of(entry)
    }
  }

  /// - Returns: what fetches the directory of a pack; that is `fetch` where nobody does yet.
  private func sharing(
    _ number: UInt32, _ fetch: @escaping @Sendable () async throws -> Pack?
  ) -> (fetch: Task<Pack?, any Error>, isOwn: Bool) {
    fetches.withLock { underWay in
      if let task = underWay[number] { return (task, false) }
      let task = Task<Pack?, any Error> {
        defer { self.fetches.withLock { $0[number] = nil } }
        return try await fetch()
      }
      underWay[number] = task
      return (task, true)
    }
  }

  private static func value(of fetch: Task<Pack?, any Error>) async throws -> Pack? {
    try await withTaskCancellationHandler {
      try await fetch.value
    } onCancel: {
      fetch.cancel()
    }
  }

  private func pack(_ entry: PackEntry, _ directory: Directory) throws -> Pack {
    Pack(
      entry: entry, keys: try PackReader(entry: entry, keys: repository.keys).objectKeys,
      directory: keepsFingerprints ? directory : directory.withoutFingerprints)
  }

  /// Fetches the directories that this machine does not keep yet, many at once, so that nobody waits for each in turn.
  /// A pack that is missing or damaged is passed over: whoever needs it says so.
  ///
  /// Where this machine can keep none, they are kept here, as many as there is room for.
  func prefetchDirectories() async throws {
    guard let state else { return }
    let missing = table.numbered.filter { !state.keeps($0.directoryName) }
    let hasRoom = Locked(true)
    _ = try await bounded(missing, atOnce: repository.store.traits.concurrency) { entry in
      // Whoever reads the map may have needed it.
      guard hasRoom.withLock({ $0 }), self.kept(entry.number) == nil, !state.keeps(entry.directoryName) else { return }
      do { try await self.prefetch(entry, into: state, hasRoom) } catch let error where error.isDamage {}
    }
  }

  /// - Parameter hasRoom: whether there is room for more of those that cannot be kept.
  private func prefetch(_ entry: PackEntry, into state: StateFolder, _ hasRoom: Locked<Bool>) async throws {
    let (fetch, isOwn) = sharing(entry.number) {
      let bytes = try await self.repository.part(entry.directoryRange, of: entry, chain: self.chain)
      state.keep(bytes, as: entry.directoryName)
      guard !state.keeps(entry.directoryName) else { return nil }
      let reader = try PackReader(entry: entry, keys: self.repository.keys)
      let pack = try self.pack(entry, try reader.openDirectory(bytes))
      let isPut = self.shelf.withLock { $0.putIfRoom(pack, limit: Self.limit) }
      if !isPut { hasRoom.withLock { $0 = false } }
      return pack
    }
    if isOwn { _ = try await Self.value(of: fetch) }
  }

  private struct Shelf {
    private var packs: [UInt32: (pack: Pack, used: Int)] = [:]
    private var clock = 0
    private var weight = 0

    mutating func take(_ number: UInt32) -> Pack? {
      clock += 1
      packs[number]?.used = clock
      return packs[number]?.pack
    }

    /// - Returns: whether it was put there without another having to go.
    mutating func putIfRoom(_ pack: Pack, limit: Int) -> Bool {
      guard weight + pack.directory.weight <= limit else { return false }
      put(pack, limit: limit)
      return true
    }

    mutating func put(_ pack: Pack, limit: Int) {
      clock += 1
      if packs.updateValue((pack, clock), forKey: pack.entry.number) == nil { weight += pack.directory.weight }
      while weight > limit, packs.count > 1, let oldest = packs.min(by: { $0.value.used < $1.value.used }) {
        packs[oldest.key] = nil
        weight -= oldest.value.pack.directory.weight
      }
    }
  }
}

extension Directory {
  /// About how many bytes of memory it takes.
  var weight: Int { frames.reduce(basePacks.count * 32) { $0 + $1.weight } }
}

extension PackEntry {
  var directoryRange: Range<Int> {
    let end = Int(length) - 4
    return end - Int(directoryLength)..<end
  }

  /// What its directory is called among the kept objects of a state folder.
  var directoryName: String { "\(name.hex).directory" }
}

extension StateFolder {
  fileprivate func keeps(_ name: String) -> Bool { access("\(path)/objects/\(name)", R_OK) == 0 }
}
