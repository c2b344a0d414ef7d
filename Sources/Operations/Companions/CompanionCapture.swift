import Platform
import Repositories
import Sealing
import Snapshots
import Storage

/// Everything that comes with a database, captured so that what the snapshot refers to is not missed: listed and held
/// open before the snapshot begins, listed again when it has ended, and both lists joined.
///
/// A file that was there before is kept although it was deleted or replaced meanwhile; one that appeared meanwhile is in
/// as well. Of two files that had one name, the one is kept that had it when the snapshot's transaction began; where a file
/// server's clock tells when that was, the first one, and it is told.
actor CompanionCapture {
  nonisolated let database: DatabaseSource
  nonisolated let events = CaptureEvents()
  /// Companions that are left out, because another user leads root there to what is not theirs: paths inside the version, and
  /// what is wrong.
  nonisolated var refused: [(path: String, refusal: String)] { refusals.withLock { $0 } }
  private nonisolated let refusals: Locked<[(path: String, refusal: String)]>
  /// Of the first listing; `nil` where nothing comes with the database.
  nonisolated let digest: Digest?
  /// Of the database: where the links of its path lead.
  private let real: String
  private(set) var roots: [CompanionRoot]
  let hooks: CompanionHooks
  /// Those of ours.
  private let folders: [OwnFolder]
  private var before: CompanionListing
  private var holder: HeldFiles?
  private var held: [[UInt8]: (file: HeldFiles.Held, status: FileStatus)] = [:]
  private var parents: [[UInt8]: FolderHandle] = [:]
  private var captured: (image: String, all: Captured)?

  /// - Parameter folders: those of ours, which are no companions.
  /// - Throws: `.usage` where one of them was named; `CancellationError`.
  init(_ database: DatabaseSource, _ hooks: CompanionHooks, without folders: [OwnFolder] = []) throws {
    let real = realPath(database.path) ?? database.path
    let refused = Self.refused(of: database, at: real)
    let roots = Self.roots(of: database, at: real, but: refused.map(\.path))
    self.database = database
    refusals = Locked(refused)
    self.hooks = hooks
    self.roots = roots
    self.real = real
    self.folders = folders
    let listing = try CompanionListing(of: roots, beside: real, without: folders, opening: hooks.opening)
    try listing.demandNoneOwn(database)
    before = listing
    digest = Self.digest(of: listing, database)
  }

  /// `nil` where nothing was asked for and nothing is there.
  private static func digest(of listing: CompanionListing, _ database: DatabaseSource) -> Digest? {
    listing.entries.isEmpty && database.companions.isEmpty ? nil : listing.digest
  }

  /// Lists all anew, and holds it. To be called right before the snapshot begins: a key, or a target, may have been waited for
  /// since the first listing.
  /// - Throws: `.usage` where a companion is a folder of ours by now; `.failed` for more than a version can hold;
  ///   `CancellationError`.
  func hold() throws {
    // Links may have been made meanwhile, too.
    refusals.withLock { $0 = Self.refused(of: database, at: real) }
    roots = Self.roots(of: database, at: real, but: refused.map(\.path))
    before = try CompanionListing(of: roots, beside: real, without: folders, opening: hooks.opening)
    try before.demandNoneOwn(database)
    // Whether a folder that nobody asked for comes along is known when the database was read; all else is said first.
    try Self.demandFitting(
      before.entries.filter { roots[$0.root].isAsked || !roots[$0.root].isSupport }, mostBytes: hooks.mostBytes,
      askingForSupport: asksForSupport)
    let files = before.entries.filter { $0.kind == .file }
    let known = Set(files.map { MemberPath.key($0.path) })
    let holder = hooks.mostHeld.map { HeldFiles(for: files.count, most: $0) } ?? HeldFiles(for: files.count)
    self.holder = holder
    for entry in files {
      try Task.checkCancellation()
      // What SQLite keeps beside a database is read as it is when the database is: an older one does not fit.
      if let database = ReadTogether.database(of: entry.path), known.contains(MemberPath.key(database)) { continue }
      guard let (parent, name) = place(of: entry.path, root: entry.root) else { continue }
      if let file = holder.hold(name, in: parent, listedAs: entry.status) {
        held[MemberPath.key(entry.path)] = (file, entry.status)
      }
    }
    parents = [:]
    hooks.listed()
  }

  /// The files of the first listing, each opened by its name when it is asked for, with no link followed.
  func filesByName() -> [CompanionSource] {
    before.entries.filter { $0.kind == .file }.map { source($0, nil, nil) }
  }

  /// What is to be sealed with a snapshot that is finished.
  /// - Throws: `.failed` for more than a version can hold; `CancellationError`.
  func members(with snapshot: Snapshot) async throws -> Captured {
    if let captured, captured.image == snapshot.path { return captured.all }
    let after = try CompanionListing(of: roots, beside: real, without: folders, opening: hooks.opening)
    let age = after.age(at: hooks.now())
    if age < FileStatus.grain { try await Task.sleep(nanoseconds: UInt64(FileStatus.grain - age)) }
    var ownDevices: [UInt64: Bool] = [:]
    let joined = JoinedListing(before, after, held: held, snapshotBegan: snapshot.takenAt) { entry in
      if let known = ownDevices[entry.status.device] { return known }
      let isOwn = hooks.isOfThisMachine(folderPath(of: entry))
      ownDevices[entry.status.device] = isOwn
      return isOwn
    }
    var noted = after.events + joined.vanished.map { Remarks.Capture.Entry(.vanished, $0) }
    noted += joined.unsettled.map { Remarks.Capture.Entry(.unsettled, $0) }
    noted += refused.map { Remarks.Capture.Entry(.unreadable, $0.path) }
    var entries = joined.entries
    let store = try await coreDataStore(in: snapshot)
    let outgrown = store.isOther ? nil : outgrown(entries.map(\.entry))
    events.outgrown.withLock { $0 = outgrown }
    if store.isOther || outgrown != nil {
      entries.removeAll { roots[$0.entry.root].isSupport && !roots[$0.entry.root].isAsked }
      noted.removeAll { isInSupportOnly($0.path) }
    }
    events.noteListed(noted)
    events.own.withLock { $0 = after.own }
    try Self.demandFitting(entries.map(\.entry), mostBytes: hooks.mostBytes, askingForSupport: asksForSupport)

    // Where a folder of ours lies, the disk is there.
    let filled = Set(entries.filter { $0.entry.path != roots[$0.entry.root].memberPath }.map(\.entry.root))
      .union(after.own.map(\.root))
    let empty = entries.filter { entry, _ in
      entry.kind == .folder && roots[entry.root].isAsked && !filled.contains(entry.root)
    }
    events.empty.withLock { $0 = empty.map { ($0.entry.path, $0.entry.status.modifiedMilliseconds) } }
    let files = entries.map(\.entry).filter { entry in
      entry.kind == .file && MemberPath.isAbove(roots[entry.root].memberPath, entry.path)
    }
    let listed = Dictionary(grouping: files) { MemberPath.key(roots[$0.root].memberPath) }
    events.files.withLock { $0 = listed.mapValues { $0.map(\.path) } }
    var all = Captured()
    all.isNearlyFull = Self.isNearlyFull(entries.map(\.entry), mostBytes: hooks.mostBytes)
    let neighbours = SideFileNeighbour.Finder(entries, roots)
    for (entry, file) in entries {
      let neighbour = neighbours.neighbour(of: entry, isHeld: file != nil)
      all.sources.append(source(entry, file, neighbour))
      guard entry.kind == .file else { continue }
      all.count(entry.status.size, isExternal: roots[entry.root].isSupport)
    }
    if case .coreData(let facts) = store {
      let support = entries.first { roots[$0.entry.root].isSupport }.map { roots[$0.entry.root].memberPath }
      all.found = FoundStore(
        facts, support: support, isLookedFor: database.externalData || support != nil, entries.map(\.entry), events)
    }
    all.digest = Self.digest(of: after, database)
    all.isSettled = !joined.keepsEarlier && after.age(at: hooks.now()) >= 2_000_000_000
    captured = (snapshot.path, all)
    return all
  }

  /// The folder that an entry was listed in, as it is now, and its name there.
  private func place(of path: String, root number: Int) -> (FolderHandle, String)? {
    let root = roots[number]
    let components = root.realComponents(of: path)
    guard let name = components.last else { return nil }
    let key = MemberPath.key("\(number)/\(components.dropLast().joined(separator: "/"))")
    // Entries come folder by folder: few handles are enough.
    if let known = parents[key] { return (known, name) }
    guard let folder = FolderHandle(path: root.folder)?.folder(components.dropLast()) else { return nil }
    if parents.count >= 64 { parents = [:] }
    parents[key] = folder
    return (folder, name)
  }
}
