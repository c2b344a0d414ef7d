import Sealing

/// How the content of members is read: found where it is known, or gathered into new frames.
extension VersionWriter {
  /// The member as it will be read: one that has stopped growing is like any other. A new anchor among old versions
  /// waits for that, as it looks at all of the member first (`reach`).
  func settled(_ source: MemberSource) async throws -> MemberSource {
    guard let growth = source.growth else { return source }
    let looksAtAll = level == .anchor && isAmongOthers
    guard let length = try await growth(looksAtAll ? .max : 0) else { return source }
    var whole = source
    whole.length = length
    whole.growth = nil
    return whole
  }

  /// Reads a member, finds what is known and gathers the rest into frames.
  /// - Returns: what it is, and where its units lie.
  mutating func read(
    _ source: MemberSource, onProgress: (Int) -> Void
  ) async throws -> (member: Core.Member, runs: RunList) {
    let (chooser, areLacking) = bases(for: source)
    lacksBases = lacksBases || areLacking
    meetsAnchor = meetsAnchor || meetsAnchor(with: source)
    let reach = try reach(of: source)
    let runs = try RunList(in: state.path)
    var content = ContentWriter(
      frames: FrameMaker(
        source.unitType, encoders: encoders, bases: chooser, firstOrdinal: UInt32(packs.placed.count)),
      runs: runs, fresh: fresh, gapLimit: chooser?.gapLimit ?? 0,
      gapDepth: level.depthOfBases, movesAll: level != .leaf)
    if let growth = source.growth {
      return try await read(growing: source, growth, into: &content, runs, reach, onProgress: onProgress)
    }
    var blocks = BlockPipeline(source, workers: fingerprinters, samples: samples(of: source))
    let image = RunningDigest()
    let plain = RunningDigest()
    while let block = try await blocks.next() {
      plain.update(block.bytes)
      image.update(block.fingerprintBytes)
      try await add(block, to: &content, within: reach, onProgress: onProgress)
      try demandLeaf(content)
    }
    try await endFrames(of: &content)
    let member = member(source, length: source.length, imageDigest: image.finish(), sha256: plain.finish())
    return (member, runs)
  }

  /// The same for a member that is still being written. What was read is compared with the finished member, which is
  /// read once more for its SHA-256 while the rest is sealed; units that differ are read again and placed anew.
  private mutating func read(
    growing source: MemberSource, _ growth: @escaping MemberSource.Growth, into content: inout ContentWriter,
    _ runs: RunList, _ reach: Reach, onProgress: (Int) -> Void
  ) async throws -> (member: Core.Member, runs: RunList) {
    let first = try FirstReading(unitSize: source.unitSize, in: state.path)
    let reading = SecondReading.begin(source, growth, first.sums, in: state.path)
    defer { reading.cancel() }
    var blocks = BlockPipeline(
      source, workers: fingerprinters, samples: samples(of: source), sums: first.sums)
    while let block = try await blocks.next() {
      try first.add(block)
      try await add(block, to: &content, within: reach, onProgress: onProgress)
      try demandLeaf(content)
    }
    let second = try await withTaskCancellationHandler {
      try await reading.value
    } onCancel: {
      reading.cancel()
    }
    try first.end(by: second)
    let corrections = try GrowingTable<UnitCorrection>(in: state.path)
    var next = 0
    while let unit = first.staleUnit(from: next, by: second) {
      try Task.checkCancellation()
      let start = unit * source.unitSize
      let block = try BlockPipeline.fingerprint(
        start..<start + source.unitSize, of: source, fingerprinters, samples: samples(of: source), sums: first.sums)
      try first.correct(unit, block, by: second)
      let location = try content.correct(block, known: known, within: reach)
      try corrections.append(UnitCorrection(unit: unit, location: location))
      note(block.samples)
      try await takeFrames(of: &content)
      next = unit + 1
    }
    try await endFrames(of: &content)
    let member = member(
      source, length: second.length, imageDigest: first.imageDigest(), sha256: second.sha256)
    return (member, try runs.corrected(by: corrections, units: second.sums.count, in: state.path))
  }

  mutating func add(
    _ block: FingerprintedBlock, to content: inout ContentWriter, within reach: Reach, onProgress: (Int) -> Void
  ) async throws {
    try Task.checkCancellation()
    note(block.samples)
    try content.add(block, known: known, within: reach)
    try await takeFrames(of: &content)
    try await noteStored()
    onProgress(block.first * block.unitSize + block.bytes.count)
  }

  /// - Throws: `TooDear` when it is a leaf only as long as it is small, and is not any more: a base is due, or none is there.
  private func demandLeaf(_ content: borrowing ContentWriter) throws(TooDear) {
    if let most = mostNew, content.newBytes > most { throw TooDear() }
  }

  /// So many bytes of new pages end the attempt, where any number does.
  private var mostNew: Int? {
    if let most = draft.deltas.leafUpTo { return most }
    guard levelWithoutBases != nil, let anchor = draft.deltas.anchor else { return nil }
    return DeltaPlan.smallChange(of: anchor.pageCount * anchor.pageSize)
  }

  private mutating func takeFrames(of content: inout ContentWriter) async throws {
    while content.frames.isBusy, let frame = try await content.frames.next() { try await packs.append(frame) }
  }

  mutating func endFrames(of content: inout ContentWriter) async throws {
    content.frames.endFrame()
    while let frame = try await content.frames.next() { try await packs.append(frame) }
    newBytes += content.newBytes
  }

  private func samples(of source: MemberSource) -> SampleTable? {
    source.unitType == .page && level < .shoot ? draft.deltas.samples?.table : nil
  }

  /// Whoever gave samples took them for the table of this draft.
  private func note(_ samples: [(tag: UInt32, unit: Int)]) {
    guard !samples.isEmpty, let table = draft.deltas.samples?.table else { return }
    for sample in samples { table.insert(sample.tag, page: sample.unit) }
  }

  private func member(_ source: MemberSource, length: Int, imageDigest: Digest, sha256: Digest) -> Core.Member {
    let units = (length + source.unitSize - 1) / source.unitSize
    let file = Core.FileContent(
      unitType: source.unitType, unitSize: UInt32(source.unitSize), unitCount: UInt64(units), length: UInt64(length),
      imageDigest: imageDigest, sha256: sha256)
    return Core.Member(
      path: source.path, mode: source.mode, modified: source.modified,
      content: source.unitType == .page ? .database(file) : .file(file))
  }
}
