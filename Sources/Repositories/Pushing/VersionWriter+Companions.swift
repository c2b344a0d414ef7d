import Sealing

/// How companions are read: like the database, in blocks of 64 KiB, with deltas on what lay under the same path. Small
/// files share frames, and all lists of runs one table, so that a hundred thousand of them are a matter of memory for
/// their names only.
extension VersionWriter {
  /// A file that changes each time it is read is read so often.
  private static let readings = 3

  /// Content of a member, by the list of where its units lie.
  struct PlacedMember {
    let runs: RunList
    /// In bytes.
    let unitSize: Int
    let length: Int
  }

  /// What was read of all members so far.
  struct ReadMembers {
    var members: [Core.Member] = []
    /// Of those with content.
    var placed: [PlacedMember] = []
    /// In bytes.
    var length = 0

    /// How much there is of each.
    var extent: (members: Int, placed: Int, length: Int) { (members.count, placed.count, length) }

    /// Takes back what was added since.
    mutating func cut(to extent: (members: Int, placed: Int, length: Int)) {
      members.removeLast(members.count - extent.members)
      placed.removeLast(placed.count - extent.placed)
      length = extent.length
    }

    mutating func add(_ member: Core.Member, _ runs: RunList, _ file: Core.FileContent) {
      members.append(member)
      placed.append(PlacedMember(runs: runs, unitSize: Int(file.unitSize), length: Int(file.length)))
      length += Int(file.length)
    }
  }

  /// What all of them are read with.
  private struct Context {
    let runs: GrowingTable<UnitRun>
    let bases: CompanionChooser?
    /// Of the version before.
    var earlier: EarlierFiles
  }

  /// Reads what comes with the database. A file that is gone by now is left out; whoever gave it says so.
  /// - Parameter newest: the version before.
  mutating func readCompanions(
    into read: inout ReadMembers, after newest: Core?, onProgress: (Int) -> Void
  ) async throws {
    let sources = try await draft.companions()
    guard !sources.isEmpty else { return }
    let table = try GrowingTable<UnitRun>(in: state.path)
    var context = Context(
      runs: table, bases: companionBases(), earlier: EarlierFiles(newest?.members ?? []))
    var content = ContentWriter(
      frames: FrameMaker(.block, encoders: encoders, bases: context.bases, firstOrdinal: UInt32(packs.placed.count)),
      runs: RunList(in: table), fresh: fresh, gapLimit: 0, movesAll: level != .leaf)
    try await readInGroups(sources[...], into: &read, &content, &context, onProgress: onProgress)
    try await endFrames(of: &content)
  }

  private mutating func readInGroups(
    _ sources: ArraySlice<CompanionSource>, into read: inout ReadMembers, _ content: inout ContentWriter,
    _ context: inout Context, onProgress: (Int) -> Void
  ) async throws {
    var rest = sources
    while !rest.isEmpty {
      let together = rest.prefix(ReadTogether.extent(of: rest))
      rest = rest.dropFirst(together.count)
      try await readTogether(together, into: &read, &content, &context, onProgress: onProgress)
    }
  }

  /// Reads a file, or a database and what SQLite keeps beside it, again when one of them was not left alone until the last
  /// was read. Else they are of one moment: what is in the -wal fits, and what was taken out of that is in the database.
  private mutating func readTogether(
    _ sources: ArraySlice<CompanionSource>, into read: inout ReadMembers, _ content: inout ContentWriter,
    _ context: inout Context, onProgress: (Int) -> Void
  ) async throws {
    let (before, known) = (read.extent, context.earlier)
    for reading in 1...Self.readings {
      var files: [any CompanionFile] = []
      var rest = sources
      while let source = rest.first {
        try Task.checkCancellation()
        // By their names these come in between, and have nothing to do with the database.
        let others = rest.prefix { !ReadTogether.isOf(sources, $0) }
        guard others.isEmpty else {
          rest = rest.dropFirst(others.count)
          try await readInGroups(others, into: &read, &content, &context, onProgress: onProgress)
          continue
        }
        rest = rest.dropFirst()
        let file = try await self.read(source, into: &read, &content, &context, onProgress: onProgress)
        // What the -shm holds is made anew from the -wal.
        if let file, source.path != "\(sources.first?.path ?? "")-shm" { files.append(file) }
      }
      let changed = files.filter { !$0.isSettled() }
      if changed.isEmpty { return }
      guard reading < Self.readings else { return changed.forEach { $0.keptUnsettled() } }
      read.cut(to: before)
      context.earlier = known
    }
  }

  /// - Returns: the file that was read; `nil` for what is none, and for one that is gone.
  private mutating func read(
    _ source: CompanionSource, into read: inout ReadMembers, _ content: inout ContentWriter, _ context: inout Context,
    onProgress: (Int) -> Void
  ) async throws -> (any CompanionFile)? {
    switch source.content {
    case .folder:
      read.members.append(
        Core.Member(path: source.path, mode: source.mode, modified: source.modified, content: .folder))
    case .link(let target):
      read.members.append(
        Core.Member(path: source.path, mode: source.mode, modified: source.modified, content: .link(target: target)))
    case .file(let open):
      content.runs = RunList(in: context.runs)
      let before = read.length
      let companion = Companion(
        path: source.path, open: open, earlier: context.earlier.file(at: source.path), bases: context.bases)
      guard
        let (file, member, held) = try await self.read(
          companion, into: &content, onProgress: { onProgress(before + $0) })
      else { return nil }
      read.add(member, content.runs, held)
      return file
    }
    return nil
  }

  /// A file whose turn has come.
  private struct Companion {
    let path: String
    let open: @Sendable () throws -> (any CompanionFile)?
    let earlier: (modified: UInt64, content: Core.FileContent)?
    let bases: CompanionChooser?

    /// Whether the version before had something else under this path, as far as can be told before it is read.
    func isChanged(_ file: any CompanionFile) -> Bool {
      earlier.map { $0.modified != file.modified || $0.content.length != UInt64(file.length) } ?? false
    }
  }

  /// - Returns: `nil` when the file is gone.
  private mutating func read(
    _ companion: Companion, into content: inout ContentWriter, onProgress: (Int) -> Void
  ) async throws -> (file: any CompanionFile, member: Core.Member, content: Core.FileContent)? {
    do {
      guard let file = try companion.open() else { return nil }
      let read = try await self.read(companion, file, into: &content, onProgress: onProgress)
      let member = Core.Member(path: companion.path, mode: file.mode, modified: file.modified, content: .file(read))
      return (file, member, read)
    } catch is UnreadableCompanion {
      content.runs.removeAll()
      return nil
    }
  }

  private mutating func read(
    _ companion: Companion, _ file: any CompanionFile, into content: inout ContentWriter, onProgress: (Int) -> Void
  ) async throws -> Core.FileContent {
    let begun = companion.bases?.begin(companion.path, length: file.length, isChanged: companion.isChanged(file))
    content.origin = begun?.first ?? 0
    content.frames.haveBase = begun?.hasBase ?? false
    let source = MemberSource(
      content: .file, path: companion.path, mode: file.mode, modified: file.modified, length: file.length,
      read: { try file.read($0) })
    var blocks = BlockPipeline(source, workers: fingerprinters)
    let image = RunningDigest()
    let plain = RunningDigest()
    while let block = try await blocks.next() {
      plain.update(block.bytes)
      image.update(block.fingerprintBytes)
      begun?.copy?.add(block.bytes)
      try await add(block, to: &content, within: reach, onProgress: onProgress)
    }
    begun?.copy?.end()
    return Core.FileContent(
      unitType: .block, unitSize: UInt32(source.unitSize), unitCount: UInt64(source.unitCount),
      length: UInt64(file.length), imageDigest: image.finish(), sha256: plain.finish())
  }
}
