import Repositories
import Sealing
import Snapshots
import Storage

/// One version on its way from one repository to another: restored and proved, then sealed as a push would.
struct CopiedVersion {
  private let found: VersionLookup.Found
  private let summary: VersionSummary
  private let compressionLevel: Int
  private let origin: VersionLookup
  private let place: ScratchPlace
  private let world: World

  /// - Parameter summary: with the tags and the note that it has now.
  init(
    _ found: VersionLookup.Found, _ summary: VersionSummary, _ compressionLevel: Int, _ origin: VersionLookup,
    _ place: ScratchPlace, _ world: World
  ) {
    self.found = found
    self.summary = summary
    self.compressionLevel = compressionLevel
    self.origin = origin
    self.place = place
    self.world = world
  }

  /// - Returns: the copy, when it is acknowledged.
  func copy(to destination: CopyDestination, fork: UInt32) async throws -> VersionSummary {
    try await destination.demandOpen(destination.place(found.facts, fork: fork).chain)
    let manifest = try await origin.manifest(of: found)
    let reader = try await VersionReader(
      manifest, repository: origin.repository, state: origin.state, tables: place.path)
    let core = reader.core
    let image = try await restoreDatabase(reader)
    defer { image.discard() }
    let staged = try await StagedCompanions.restore(
      reader, beside: "\(place.path)/companions", finishing: false, onProgress: { _ in })
    defer { staged?.discard() }

    var lane = try destination.place(found.facts, fork: fork)
    var session = try await destination.session(lane.chain)
    // Somebody has pushed there since it was listed: an older version must not come after that one.
    while let newest = session.newest, newest.core?.time != core.time, destination.learns(of: newest.facts) {
      lane = try destination.place(found.facts, fork: fork)
      if lane.chain != newest.name.chain { session = try await destination.session(lane.chain) }
    }
    let bases = destination.bases(of: lane.chain, core, fork: lane.fork, level: compressionLevel, in: place)
    let snapshot = try snapshot(image, core)
    for problem in session.problems { world.reporter.notice("\(destination.name): \(problem.message)") }
    let next = session.next
    let (tags, note) = fittingWords()
    var draft = VersionDraft(
      chain: lane.chain, sequence: next.sequence, previous: next.previous, time: core.time, host: core.host,
      database: core.database, method: core.method, flags: core.flags, members: [source(core.members[0], image)],
      tags: tags, note: note, compressionLevel: compressionLevel)
    let plan = snapshot.flatMap { bases?.plan(for: $0) } ?? .withoutBases
    draft.deltas = plan
    let remarks = manifest.body.remarks
    draft.companions = { core.members.dropFirst().map { member in Self.source(member, staged) } }
    draft.lateRows = { remarks.rows }
    draft.lateStore = { remarks.store }
    draft.lateCapture = { remarks.capture }
    draft.origin = remarks.origin ?? .init(repository: origin.repository.id, version: found.facts.id)
    draft.demand = { members in try Self.demand(members, core) }
    let total = core.members.map { Int($0.file?.length ?? 0) }.clampedSum
    // A copy whose manifest was on its way when the last run was cut has just come to be there.
    let isThere = session.newest?.core?.time == core.time
    let result = try await session.push(draft, skipEqual: isThere, dryRun: false) { done in
      world.reporter.progress(
        Progress(.sealing, subject: core.database, bytesDone: done, bytesTotal: total))
    }
    if let snapshot { bases?.keep(snapshot, plan, result) }
    // Nothing can have been said of one that was not there before.
    let words: Annotations? = result.unchanged ? nil : Annotations.none
    destination.add(result.manifest.facts, words: words)
    guard let copy = VersionSummary(result.manifest.facts, target: destination.name, words: words) else {
      throw RepositoryError(.damaged, "the manifest just written is no version")
    }
    return copy
  }

  /// The tags and the note as far as a manifest holds them: annotations may say more (`Docs/Format.md` §8.3).
  private func fittingWords() -> (tags: [String], note: String) {
    let tags = ManifestBody.held(summary.tags)
    let isNoteHeld = ManifestBody.holds(summary.note)
    let id = summary.id.prefix(12)
    let lost = summary.tags.count - tags.count
    if lost > 0 {
      world.reporter.notice(
        "tags of version \(id) are left out of its copy, \(lost) in all: a manifest holds no more, or none as long")
    }
    if !isNoteHeld {
      world.reporter.notice("the note of version \(id) is left out of its copy: a manifest holds none as long")
    }
    return (tags, isNoteHeld ? summary.note : "")
  }

  /// The database, proved by its image digest and its SHA-256.
  private func restoreDatabase(_ reader: VersionReader) async throws -> RestoredFile {
    guard let content = reader.core.members.first?.file else {
      throw RepositoryError(.damaged, "the version has no content")
    }
    let file = try RestoredFile(for: "\(place.path)/database")
    let done = Counter()
    do {
      try file.setLength(Int(content.length))
      try await reader.read(
        member: 0, into: file,
        onProgress: { [reporter = world.reporter] count in
          reporter.progress(
            Progress(
              .fetching, subject: reader.core.database, bytesDone: done.add(count), bytesTotal: summary.size))
        })
      try file.demand(content)
      return file
    } catch {
      file.discard()
      throw error
    }
  }

  private func source(_ member: Core.Member, _ file: RestoredFile) -> MemberSource {
    let content: MemberSource.Content =
      switch member.content {
      case .database(let image): .image(pageSize: Int(image.unitSize))
      default: .file
      }
    return MemberSource(
      content: content, path: member.path, mode: member.mode, modified: member.modified,
      length: Int(member.file?.length ?? 0), read: { try file.bytes($0) })
  }

  private static func source(_ member: Core.Member, _ staged: StagedCompanions?) -> CompanionSource {
    CompanionSource(rebuilding: member) {
      try staged.map { StagedFile(try $0.open(member.path), member) }
    }
  }

  /// The image as a push would have it; nil where there is none.
  private func snapshot(_ file: RestoredFile, _ core: Core) throws -> Snapshot? {
    guard case .database(let image)? = core.members.first?.content else { return nil }
    return Snapshot(
      path: file.temporaryPath, pageSize: Int(image.unitSize), pageCount: Int(image.unitCount),
      method: core.method == .vacuum ? .vacuum : .pages, check: nil, takenAt: Int64(clamping: core.time),
      source: try SourceSignature.read(file.temporaryPath))
  }

  /// What was read to be sealed must be what was pushed: not a byte may have changed on the way.
  private static func demand(_ members: [Core.Member], _ core: Core) throws {
    let isSame =
      members.count == core.members.count
      && zip(members, core.members).allSatisfy {
        MemberPath.isSame($0.path, $1.path) && $0.file?.length == $1.file?.length
          && $0.file?.sha256 == $1.file?.sha256 && ($0.file != nil || $0.content == $1.content)
      }
    guard isSame else {
      throw RepositoryError(
        .damaged, "what was restored changed before it was sealed",
        hint: "Nothing was acknowledged. Copy again; if it happens again, the disk of the scratch folder is failing.")
    }
  }
}

extension RestoredFile {
  func bytes(_ range: Range<Int>) throws -> [UInt8] {
    var problem: (any Error)?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      do {
        try read(
          into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: range.count), at: range.lowerBound)
        count = range.count
      } catch {
        problem = error
      }
    }
    if let problem { throw problem }
    return bytes
  }
}

/// A companion in the scratch place, to be sealed anew as it was.
private final class StagedFile: CompanionFile {
  let length: Int
  let mode: UInt32
  let modified: UInt64
  private let file: RestoredMember

  init(_ file: RestoredMember, _ member: Core.Member) {
    self.file = file
    length = Int(member.file?.length ?? 0)
    mode = member.mode
    modified = member.modified
  }

  func read(_ range: Range<Int>) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      try file.read(
        into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: range.count), at: range.lowerBound)
      count = range.count
    }
  }

  func isSettled() -> Bool { true }
  func keptUnsettled() {}
}
