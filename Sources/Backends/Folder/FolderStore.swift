import Glibc
import Platform
package import Storage

/// Objects as files below a folder: a disk, a mounted share. The reference among the stores.
///
/// Written to `tmp/`, made durable, moved to the name, and the move made durable too. Names that are no object
/// names (hidden files, capitals) belong to somebody else and are left alone.
package struct FolderStore: ObjectStore {
  package let traits: StoreTraits
  private let root: String
  private let identity: FolderIdentity
  /// What the folder lies in now. Tests have it elsewhere.
  var mount: @Sendable () -> MountTable.Mount?
  /// Folders whose own names are known to be durable.
  private let durable = Locked<Set<String>>([])
  /// Folders that were missing and made by this value: when the last object in one is deleted, it goes too.
  private let made = Locked<Set<String>>([])

  /// - Parameters:
  ///   - path: absolute.
  ///   - create: make the folder (0700) when it is missing; else a missing one is an error, because it is more
  ///     likely a disk that is not mounted.
  /// - Throws: `.noTarget` when the folder is missing.
  package init(path: String, create: Bool = false) throws(StoreError) {
    root = path
    do throws(StoreError) {
      if create { try Self.make(path) }
      let identity = try FolderIdentity(of: try OpenFolder.target(path), at: path)
      self.identity = identity
      mount = { identity.mount }
    } catch {
      // Nothing of it may be asked for now.
      throw error.said(by: MountTable.current.mount(holding: path))
    }
    traits = Self.traits(of: path)
    if let refusal = PlantedEntry.refusal(on: path) { throw .planted(refusal) }
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await attempt { () throws(StoreError) in
      // Each time that it is taken away somebody else has got on.
      for _ in 1...100 {
        do throws(StoreError) {
          return try place(body, at: name, ifAbsent: ifAbsent)
        } catch  where error.code == .notFound {
          // Somebody who emptied a folder on the way took it away under us.
          continue
        }
      }
      try place(body, at: name, ifAbsent: ifAbsent)
    }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await attempt { () throws(StoreError) in
      guard let folder = try find(name.parents), let file = try OpenFile.reading(name.lastComponent, in: folder) else {
        throw StoreError(.notFound, "there is no \(name) in \(root)")
      }
      let size = try file.status().size
      guard size <= ObjectBody.largest || range != nil else { throw .tooLarge(name, size: size) }
      let range = range ?? 0..<size
      guard range.lowerBound >= 0, range.upperBound <= size else { throw .outside(range, of: name, size: size) }
      return try file.read(range)
    }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await attempt { () throws(StoreError) in
      guard let folder = try find(name.parents), let entry = try folder.entry(name.lastComponent) else { return nil }
      if entry.isLink { throw .symbolicLink(name.text) }
      return entry.isFile ? ObjectInfo(name: name, size: entry.size) : nil
    }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await attempt { () throws(StoreError) in
      let parents = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      // A prefix that no object name can begin with: nothing is there, and nothing outside is looked at.
      guard parents.isEmpty || ObjectName(parents.joined(separator: "/")) != nil else { return [] }
      guard let folder = try find(Array(parents)) else { return [] }
      var found: [ObjectInfo] = []
      try collect(in: folder, below: parents.map { $0 + "/" }.joined(), prefix: prefix, into: &found)
      return found
    }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await attempt { () throws(StoreError) in
      guard let folder = try find(name.parents) else { return }
      let outcome = unlinkat(folder.descriptor, String(name.lastComponent), 0)
      let number = outcome == 0 ? 0 : errno
      if number == 0 {
        // A key that was removed must not open again when the power goes.
        try folder.synchronize()
        return removeEmptied(name.parents)
      }
      // A folder is no object, so there is nothing to delete.
      if [ENOENT, EISDIR].contains(number) { return }
      throw .system(number, "\(name) could not be deleted", for: .delete)
    }
  }
}

extension FolderStore {
  /// Makes a request, on a thread of its own.
  private func attempt<Answer: Sendable>(
    _ request: @escaping @Sendable () throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    do { return try await onOwnThread(request) } catch { throw error.said(by: mount()) }
  }

  private func place(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) throws(StoreError) {
    let top = try top()
    let temporaries = try reach(["tmp"], from: top)
    let temporary = TemporaryName.random()
    do throws(StoreError) {
      try OpenFile.creating(temporary, in: temporaries).write(durably: body.bytes)
      let folder = try reach(name.parents, from: top)
      if ifAbsent {
        try link(temporary, in: temporaries, to: name, in: folder, holding: body.bytes)
      } else {
        try move(temporary, in: temporaries, to: name, in: folder)
      }
      try folder.synchronize()
      identity.noteUse(of: name)
    } catch {
      unlinkat(temporaries.descriptor, String(temporary), 0)
      throw error
    }
  }

  /// Takes away what this value made and what is empty now, from the innermost folder outwards, and `tmp`.
  private func removeEmptied(_ steps: [Substring]) {
    for depth in stride(from: steps.count, to: 0, by: -1) {
      guard removeIfMade(steps[..<depth]) else { break }
    }
    _ = removeIfMade(["tmp"])
  }

  private func removeIfMade(_ steps: ArraySlice<Substring>) -> Bool {
    let path = steps.joined(separator: "/")
    guard let last = steps.last, let parent = try? find(Array(steps.dropLast())) else { return false }
    let descriptor = parent.descriptor
    return made.withLock { made in
      guard made.contains(path), unlinkat(descriptor, String(last), AT_REMOVEDIR) == 0 else { return false }
      made.remove(path)
      _ = durable.withLock { $0.remove(path) }
      return true
    }
  }

  private func top() throws(StoreError) -> OpenFolder {
    let folder = try OpenFolder.target(root)
    try identity.demand(folder)
    return folder
  }

  /// The folder at the end of these steps, or `nil` when one is missing.
  private func find(_ steps: [Substring]) throws(StoreError) -> OpenFolder? {
    var folder = try top()
    for step in steps {
      guard let next = try folder.folder(step) else { return nil }
      folder = next
    }
    return folder
  }

  /// The folder at the end of these steps, made where it is missing, with the names of all of them durable.
  private func reach(_ steps: [Substring], from top: borrowing OpenFolder) throws(StoreError) -> OpenFolder {
    guard let first = steps.first else { return try self.top() }
    var folder = try makeDurably(first, in: top)
    for step in steps.dropFirst() { folder = try makeDurably(step, in: folder) }
    return folder
  }

  private func makeDurably(_ step: Substring, in parent: borrowing OpenFolder) throws(StoreError) -> OpenFolder {
    let child = parent.path.isEmpty ? String(step) : "\(parent.path)/\(step)"
    let descriptor = parent.descriptor
    let isNew = try made.withLock { made throws(StoreError) in
      let isNew = try OpenFolder.make(step, in: descriptor, child)
      if isNew { made.insert(child) }
      return isNew
    }
    guard let folder = try parent.folder(step) else {
      // Gone, or there again meanwhile.
      if try parent.entry(step)?.isFolder != false {
        throw StoreError(.notFound, "\(parent.path)/\(step) was taken away")
      }
      throw StoreError(.fileSystem, "\(parent.path)/\(step) is in the way: a folder is needed there")
    }
    let path = folder.path
    // Also when it was there before: whoever made it may not have come to the fsync.
    if isNew || !durable.withLock({ $0.contains(path) }) {
      try parent.synchronize()
      _ = durable.withLock { $0.insert(path) }
    }
    return folder
  }

  private func move(
    _ temporary: Substring, in temporaries: borrowing OpenFolder, to name: ObjectName, in folder: borrowing OpenFolder
  ) throws(StoreError) {
    let outcome = renameat(
      temporaries.descriptor, String(temporary), folder.descriptor, String(name.lastComponent))
    guard outcome == 0 else { throw .system(errno, "\(name) could not be moved to its name", for: .write) }
  }

  /// A second link instead of a move, because that one step fails when the name is taken.
  private func link(
    _ temporary: Substring, in temporaries: borrowing OpenFolder, to name: ObjectName,
    in folder: borrowing OpenFolder, holding bytes: [UInt8]
  ) throws(StoreError) {
    let last = String(name.lastComponent)
    let outcome = linkat(temporaries.descriptor, String(temporary), folder.descriptor, last, 0)
    let number = outcome == 0 ? 0 : errno
    switch number {
    case 0, EEXIST: unlinkat(temporaries.descriptor, String(temporary), 0)
    case EPERM, EACCES, EOPNOTSUPP, ENOSYS, EINVAL, EMLINK, EXDEV:
      // A file system without hard links (FAT, and what shares make of one): look, then move.
      if try folder.entry(last) == nil { return try move(temporary, in: temporaries, to: name, in: folder) }
      unlinkat(temporaries.descriptor, String(temporary), 0)
    default: throw .system(number, "\(name) could not be moved to its name", for: .write)
    }
    if number == 0 { return }
    guard let file = try OpenFile.reading(name.lastComponent, in: folder), try file.status().size == bytes.count,
      sameBytes(try file.read(0..<bytes.count), bytes)
    else { throw .taken(name) }
  }

  private func collect(
    in folder: borrowing OpenFolder, below path: String, prefix: String, into found: inout [ObjectInfo]
  ) throws(StoreError) {
    for entryName in try folder.names() {
      let text = path + entryName
      guard let name = ObjectName(text), text.hasPrefix(prefix) || prefix.hasPrefix(text + "/") else { continue }
      // Our own leftovers, unless asked for.
      if text == "tmp", !prefix.hasPrefix("tmp") { continue }
      // Gone since the folder was read: not there any more.
      guard let entry = try folder.entry(entryName) else { continue }
      if entry.isLink { throw .symbolicLink(text) }
      if entry.isFile { found.append(ObjectInfo(name: name, size: entry.size, stored: entry.modified)) }
      if entry.isFolder, let inner = try folder.folder(Substring(entryName)) {
        try collect(in: inner, below: text + "/", prefix: prefix, into: &found)
      }
    }
  }

  /// Those of a folder, there or not. By whatever links it is reached, what is harmed there is harmed.
  static func traits(of path: String) -> StoreTraits {
    StoreTraits(
      location: "file://\(path)", place: "file://\(realPath(path) ?? path)", concurrency: 4, conditionalPut: true,
      listsAtOnce: true, isLocal: true,
      folder: path)
  }

  /// - Throws: what would stand in the way of making a folder, as far as it shows without making anything.
  static func demandMakeable(_ path: String) throws(StoreError) {
    let what = "the folder \(path) could not be made"
    var above = path
    var found = stat()
    while stat(above, &found) != 0 {
      let number = errno
      guard number == ENOENT, !["/", "."].contains(above) else { throw .system(number, what, for: .write) }
      above = PathSteps.folder(of: above)
    }
    guard found.st_mode & S_IFMT == S_IFDIR else { throw .system(ENOTDIR, what, for: .write) }
    guard access(above, W_OK | X_OK) == 0 else { throw .system(errno, what, for: .write) }
  }

  /// Makes the folder and those above it, durably.
  private static func make(_ path: String) throws(StoreError) {
    var made = PathSteps.isAbsolute(path) ? "/" : "."
    for step in PathSteps.of(path) {
      let parent = made
      made += (made.hasSuffix("/") ? "" : "/") + step
      if mkdir(made, 0o700) == 0 {
        try OpenFolder.target(parent).synchronize()
      } else if errno != EEXIST {
        throw .system(errno, "the folder \(made), on the way to \(path), could not be made", for: .write)
      }
      if let refusal = PlantedEntry.refusal(of: made, in: parent) { throw .planted(refusal) }
    }
  }
}
