import Glibc
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
  /// What is known when the snapshot is finished.
  struct Captured: Sendable {
    var sources: [CompanionSource] = []
    var found: FoundStore?
    /// As far as is known by now: whether its files can be read shows when they are.
    var store: Remarks.Store? { found?.remarks }
    /// Of what is in: files, and their bytes as listed; those of a Core Data store among them.
    var files = 0
    var bytes = 0
    var externalFiles = 0
    var externalBytes = 0
    /// Not many more fit into one version.
    var isNearlyFull = false
    /// The listing after the snapshot, and whether it proves anything: it is of what was captured, and had been left alone
    /// long enough.
    var digest: Digest?
    var isSettled = false

    /// Counts a file. Holes count, so that all together may be more than any disk holds.
    mutating func count(_ size: Int, isExternal: Bool) {
      files += 1
      bytes = [bytes, size].clampedSum
      guard isExternal else { return }
      externalFiles += 1
      externalBytes = [externalBytes, size].clampedSum
    }
  }

  /// A support folder that is left out: no version can hold it.
  struct Outgrown: Sendable {
    let folder: String
    let why: String
  }

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
  private var roots: [CompanionRoot]
  private let hooks: CompanionHooks
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

  private static func refused(of database: DatabaseSource, at real: String) -> [(path: String, refusal: String)] {
    database.companions.compactMap { companion in
      CompanionPlace.refusal(of: companion, beside: real).map { (path: companion.memberPath, refusal: $0) }
    }
  }

  /// `nil` where nothing was asked for and nothing is there.
  private static func digest(of listing: CompanionListing, _ database: DatabaseSource) -> Digest? {
    listing.entries.isEmpty && database.companions.isEmpty ? nil : listing.digest
  }

  /// The companions that are asked for, and the folder where Core Data puts external files, which may come to be there while
  /// the snapshot is waited for.
  private static func roots(of database: DatabaseSource, at real: String, but refused: [String]) -> [CompanionRoot] {
    let folder = PathSteps.folder(of: real)
    let support = database.externalData ? SupportFolder.name(of: real) : nil
    let followed = database.companions.filter { companion in
      !refused.contains { MemberPath.isSame($0, companion.memberPath) }
    }
    var roots = followed.map { companion in
      let place = CompanionPlace(of: companion, beside: real)
      return CompanionRoot(
        folder: place.folder, components: place.components, memberPath: companion.memberPath,
        exclude: ExcludePatterns(companion.exclude), isAsked: true,
        isSupport: support.map { MemberPath.isSame($0, companion.memberPath) } ?? false,
        mayBeLink: place.leadsToDatabase)
    }
    let asked = database.companions.map(\.memberPath)
    if let support, !asked.contains(where: { MemberPath.isSame(support, $0) }) {
      // What of it is named by itself is listed there, with its own exceptions.
      let named = asked.filter { MemberPath.isAbove(support, $0) }
      let end = linkedFolder("\(folder)/\(support)", of: real)
      roots.append(
        CompanionRoot(
          folder: end.map(PathSteps.folder(of:)) ?? folder,
          components: [end.flatMap { MemberPath.components($0).last } ?? support], memberPath: support,
          exclude: ExcludePatterns([]), leaving: named, isAsked: false, isSupport: true, mayBeLink: true))
    }
    return roots
  }

  /// Where a support folder that is a link leads: nobody has named it, so that it is followed only to a folder of whoever
  /// owns the database.
  private static func linkedFolder(_ path: String, of database: String) -> String? {
    var (link, owner, end) = (stat(), stat(), stat())
    guard lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK, stat(database, &owner) == 0,
      stat(path, &end) == 0, end.st_mode & S_IFMT == S_IFDIR, end.st_uid == owner.st_uid
    else { return nil }
    return realPath(path)
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

  /// Beside what is no store of Core Data that folder is somebody else's: nobody misses what cannot be had of it.
  private func isInSupportOnly(_ path: String) -> Bool {
    let over = roots.filter { MemberPath.isSameOrAbove($0.memberPath, path) }
    return over.contains(where: \.isSupport) && !over.contains(where: \.isAsked)
  }

  /// The folder that nobody asked for, where no version can hold all. The rows are pushed without it then: a store that
  /// grows must not be without any backup from one day to the next.
  private func outgrown(_ entries: [CompanionEntry]) -> Outgrown? {
    let support = roots.first { $0.isSupport && !$0.isAsked }?.memberPath
    guard let support, entries.contains(where: { MemberPath.isSame($0.path, support) }) else { return nil }
    do throws(OperationError) {
      try Self.demandFitting(entries, mostBytes: hooks.mostBytes)
      return nil
    } catch {
      return Outgrown(folder: support, why: error.message)
    }
  }

  var asksForSupport: Bool { roots.contains { $0.isAsked && $0.isSupport } }

  private enum Store {
    case coreData(CoreDataStore)
    case other
    /// The image is too damaged to say.
    case unknown

    var isOther: Bool { if case .other = self { true } else { false } }
  }

  private func coreDataStore(in snapshot: Snapshot) async throws -> Store {
    do {
      return try await readCoreDataStore(at: snapshot.path).map(Store.coreData) ?? .other
    } catch let error as SnapshotError where error.code != .cancelled {
      return .unknown
    }
  }

  private func source(
    _ entry: CompanionEntry, _ file: HeldFiles.Held?, _ neighbour: SideFileNeighbour?
  ) -> CompanionSource {
    let content: CompanionSource.Content
    switch entry.kind {
    case .folder: content = .folder
    case .link(let target): content = .link(target: target)
    case .file:
      let root = roots[entry.root]
      content = .file { [hooks, events] in
        let path = entry.path
        events.beginReading(path)
        if let file { return try CapturedFile(file, path: path, hooks, events, beside: neighbour) }
        guard neighbour?.isOfHeldDatabase ?? true else {
          events.note(.vanished, path)
          return nil
        }
        return try root.open(path, events).map { try CapturedFile($0, path: path, hooks, events, beside: neighbour) }
      }
    }
    return CompanionSource(
      path: entry.path, mode: entry.status.mode, modified: entry.status.modifiedMilliseconds, content: content)
  }

  /// Absolute.
  private func folderPath(of entry: CompanionEntry) -> String {
    let root = roots[entry.root]
    return ([root.folder] + root.realComponents(of: entry.path).dropLast()).joined(separator: "/")
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

extension CompanionRoot {
  /// Below `folder`, of what is called `path` inside the version.
  func realComponents(of path: String) -> [String] {
    if let last = components.last, let ending = ReadTogether.telling.first(where: { path == memberPath + $0 }) {
      return components.dropLast() + [last + ending]
    }
    return components + MemberPath.components(of: path, below: memberPath)
  }

  /// Opens a file that is not held, by its name. `nil` when it is gone, which is noted.
  func open(_ path: String, _ events: CaptureEvents) throws -> HeldFiles.Held? {
    let names = realComponents(of: path)
    guard let name = names.last, let parent = FolderHandle(path: folder)?.folder(names.dropLast()) else {
      events.note([ENOENT, ENOTDIR, ELOOP].contains(errno) ? .vanished : .unreadable, path)
      return nil
    }
    let descriptor = parent.file(name)
    guard descriptor >= 0 else {
      events.note([ENOENT, ELOOP, ENXIO].contains(errno) ? .vanished : .unreadable, path)
      return nil
    }
    let file = HeldFiles.Held(descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      events.note(.vanished, path)
      return nil
    }
    return file
  }
}
