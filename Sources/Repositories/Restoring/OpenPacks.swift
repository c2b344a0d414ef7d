import Glibc
import Sealing
import Storage

/// The packs of a version, opened: keys derived, directory at hand. Each directory is read, decrypted and decoded once.
final class OpenPacks: Sendable {
  struct Pack: Sendable {
    let entry: PackEntry
    let keys: ObjectKeys
    let directory: TabledDirectory
  }

  let table: PackTable
  let repository: Repository
  let chain: ChainID
  private let state: StateFolder?
  private let directories: DirectoryTables
  private let opened = Locked<[UInt32: TabledDirectory]>([:])
  /// Of the packs used last.
  private let keys = Locked<[UInt32: ObjectKeys]>([:])
  private static let keysKept = 1024
  /// Directories that are on their way, by the number of the pack: the map may be read meanwhile, and need one of them.
  private let fetches = Locked<[UInt32: Task<Pack?, any Error>]>([:])

  /// - Parameter folder: for nameless files of what grows with the version; by default the state folder.
  /// - Throws: `.stateFolder`, `.noSpace`.
  init(
    _ table: PackTable, repository: Repository, chain: ChainID, state: StateFolder?, in folder: String? = nil
  ) throws(RepositoryError) {
    self.table = table
    self.repository = repository
    self.chain = chain
    self.state = state
    directories = try DirectoryTables(in: folder ?? state?.path ?? "/tmp")
  }

  /// What is kept of it, at no cost.
  func kept(_ number: UInt32) -> Pack? {
    guard let directory = opened.withLock({ $0[number] }), let entry = table[number], let keys = try? keys(of: entry)
    else { return nil }
    return Pack(entry: entry, keys: keys, directory: directory)
  }

  /// - Throws: `.damaged` when no such pack is in the table or at the target; `SealError`; `StoreError`.
  func open(_ number: UInt32) async throws -> Pack {
    while true {
      if let pack = kept(number) { return pack }
      guard let entry = table[number] else {
        throw RepositoryError(.damaged, "a map names pack \(number), which is not in the pack table")
      }
      let (fetch, isOwn) = sharing(number) {
        // Another one may have ended in between.
        if let pack = self.kept(number) { return pack }
        return try self.keep(entry, try await self.directory(of: entry))
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

  private func keep(_ entry: PackEntry, _ directory: Directory) throws -> Pack {
    let pack = Pack(entry: entry, keys: try keys(of: entry), directory: try directories.add(directory))
    opened.withLock { $0[entry.number] = pack.directory }
    return pack
  }

  private func keys(of entry: PackEntry) throws -> ObjectKeys {
    if let known = keys.withLock({ $0[entry.number] }) { return known }
    let derived = try PackReader(entry: entry, keys: repository.keys).objectKeys
    keys.withLock { keys in
      if keys.count >= Self.keysKept { keys.removeAll(keepingCapacity: true) }
      keys[entry.number] = derived
    }
    return derived
  }

  /// Fetches the directories that this machine does not keep yet, many at once, so that nobody waits for each in turn.
  /// A pack that is missing or damaged is passed over: whoever needs it says so.
  ///
  /// Where this machine can keep none, they are opened.
  func prefetchDirectories() async throws {
    guard let state else { return }
    let missing = table.numbered.filter { !state.keeps($0.directoryName) }
    _ = try await bounded(missing, atOnce: repository.store.traits.concurrency) { entry in
      // Whoever reads the map may have needed it.
      guard self.kept(entry.number) == nil, !state.keeps(entry.directoryName) else { return }
      do { try await self.prefetch(entry, into: state) } catch let error where error.isDamage {}
    }
  }

  private func prefetch(_ entry: PackEntry, into state: StateFolder) async throws {
    let (fetch, isOwn) = sharing(entry.number) {
      let bytes = try await self.repository.part(entry.directoryRange, of: entry, chain: self.chain)
      state.keep(bytes, as: entry.directoryName)
      guard !state.keeps(entry.directoryName) else { return nil }
      let reader = try PackReader(entry: entry, keys: self.repository.keys)
      return try self.keep(entry, try reader.openDirectory(bytes))
    }
    if isOwn { _ = try await Self.value(of: fetch) }
  }
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
