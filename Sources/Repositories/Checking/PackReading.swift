import Sealing
import Storage

/// Reads packs whole, opens and decodes every frame in them, and keeps the fingerprints of all units: what image digests
/// are made of. A few packs are under way at once; frames are decoded on all cores.
///
/// Of decoded frames only those that others rest on are kept, in a file without a name, until the last of them is decoded.
struct PackReading: Sendable {
  struct Outcome: Sendable {
    var findings: [Digest: CheckFinding] = [:]
    var packs = 0
    var bytes = 0
  }

  /// So many packs are on their way while one is decoded.
  private static let ahead = 2
  private static let workers = max(1, min(4, Cores.available))

  private let plan: ReadingPlan
  private let frames: ChainFrames
  private let repository: Repository
  private let chain: ChainID
  private let spool: ScratchSpool
  /// 16 bytes for each unit of every frame that was proved.
  let fingerprints: FileTable<UInt8>
  /// By frame that others rest on, where it lies in the spool.
  private let slots: FileTable<Int>
  private let decoders: WorkerPool<FrameDecoder>

  /// - Throws: `.stateFolder`.
  init(
    _ plan: ReadingPlan, of frames: ChainFrames, _ repository: Repository, chain: ChainID, spool: ScratchSpool,
    in folder: String
  ) throws(RepositoryError) {
    self.plan = plan
    self.frames = frames
    self.repository = repository
    self.chain = chain
    self.spool = spool
    let length = frames.unitCount * Fingerprint.length
    fingerprints = try FileTable(capacity: length, count: length, in: folder)
    slots = try FileTable(capacity: frames.count, count: frames.count, in: folder)
    decoders = WorkerPool { [keys = repository.keys] in FrameDecoder(keys: keys) }
  }

  /// - Parameter onProgress: bytes fetched since the last call.
  /// - Throws: `StoreError`, `.stateFolder`. What is wrong with a pack is a finding.
  func run(onProgress: @escaping @Sendable (Int) -> Void) async throws -> Outcome {
    try await withThrowingTaskGroup(of: (Int, FetchedObject).self) { group in
      var outcome = Outcome()
      var fetched: [Int: FetchedObject] = [:]
      var (begun, done) = (0, 0)
      while done < plan.jobs.count {
        try Task.checkCancellation()
        while begun < plan.jobs.count, begun - done <= Self.ahead {
          let job = plan.jobs[begun]
          group.addTask { [begun] in (begun, try await fetch(job, onProgress)) }
          begun += 1
        }
        while fetched[done] == nil, let (index, result) = try await group.next() { fetched[index] = result }
        guard let next = fetched.removeValue(forKey: done) else { break }
        if let finding = try await decode(next) {
          outcome.findings[frames.objects[Int(next.job.object)].name] = finding
        }
        if next.job.manifest == nil, next.job.isWhole { outcome.packs += 1 }
        if next.job.manifest == nil { outcome.bytes += next.length }
        done += 1
      }
      return outcome
    }
  }

  private func fetch(_ job: ReadingPlan.Job, _ onProgress: (Int) -> Void) async throws -> FetchedObject {
    try await FetchedObject(
      job, of: frames, wanted: plan.wantedFrames(of: job), repository, chain: chain, spool: spool, onProgress)
  }

  /// - Returns: what is wrong with the object, if anything.
  private func decode(_ fetched: FetchedObject) async throws -> CheckFinding? {
    var finding = fetched.finding
    let wanted = plan.wantedFrames(of: fetched.job)
    guard let directory = fetched.directory else {
      frames.setState(.damaged, ofObject: fetched.job.object)
      try settle(wanted, of: fetched.job.object)
      return finding
    }
    var problem = try await decode(wanted, directory, fetched)
    // Parts have no hash of their own: only here it shows that they came garbled.
    if problem != nil, fetched.isInParts {
      let again = try await fetch(fetched.job) { _ in }
      finding = again.finding
      if let directory = again.directory { problem = try await decode(wanted, directory, again) }
    }
    if finding == nil, let problem { finding = self.finding(problem, fetched.job) }
    try settle(wanted, of: fetched.job.object)
    return finding
  }

  /// - Returns: what is wrong with the first frame that is damaged, if any.
  private func decode(_ wanted: [Int], _ directory: Directory, _ fetched: FetchedObject) async throws -> String? {
    var problem: String?
    for level in levels(of: wanted, directory) {
      let problems = try await decodeLevel(level, directory, fetched)
      problem = problem ?? problems.first
    }
    return problem
  }

  private func finding(_ problem: String, _ job: ReadingPlan.Job) -> CheckFinding {
    if let manifest = job.manifest { return CheckFinding(manifest.facts.name.objectName, .wrong, problem) }
    return CheckFinding(Layout.pack(frames.objects[Int(job.object)].name, of: chain), .damaged, problem)
  }

  /// Frames that rest on others of the same object come after those.
  private func levels(of wanted: [Int], _ directory: Directory) -> [[Int]] {
    var levelOf: [Int: Int] = [:]
    var levels: [[Int]] = []
    for index in wanted where directory.frames.indices.contains(index) {
      let own = directory.frames[index].bases.filter { $0.pack == nil }
      let level = own.reduce(0) { max($0, (levelOf[Int($1.frame)] ?? 0) + 1) }
      levelOf[index] = level
      while levels.count <= level { levels.append([]) }
      levels[level].append(index)
    }
    return levels
  }

  private func decodeLevel(_ indices: [Int], _ directory: Directory, _ fetched: FetchedObject) async throws -> [String]
  {
    let next = Locked(0)
    return try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<min(Self.workers, indices.count) {
        group.addTask {
          var problems: [String] = []
          try decoders.with { decoder in
            while let index = indices.next(next) {
              try Task.checkCancellation()
              if let problem = try decode(index, directory, fetched, with: decoder) { problems.append(problem) }
            }
          }
          return problems
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  /// - Returns: what is wrong with this frame itself, if anything.
  private func decode(
    _ index: Int, _ directory: Directory, _ fetched: FetchedObject, with decoder: FrameDecoder
  ) throws -> String? {
    guard let ordinal = frames.ordinal(fetched.job.object, UInt32(index)) else { return nil }
    let prefix: [UInt8]?
    switch try self.prefix(of: ordinal) {
    case .none: prefix = nil
    case .units(let units): prefix = units
    case .lost:
      frames.setState(.baseless, of: ordinal)
      return nil
    case .impossible:
      frames.setState(.damaged, of: ordinal)
      return "frame \(index) rests on what cannot be its base"
    }
    do {
      let plain: [UInt8]
      if let manifest = fetched.manifest {
        plain = try manifest.object.decodeFrame(index, with: decoder, prefix: prefix)
      } else {
        guard let sealed = fetched.sealed[index], let keys = fetched.keys else {
          // Why it could not be fetched is the finding of its pack.
          frames.setState(.damaged, of: ordinal)
          return nil
        }
        plain = try decoder.decode(
          sealed, record: directory.frames[index], index: index, objectKeys: keys, prefix: prefix)
      }
      // What the pack says of itself now may be another thing than a moment ago.
      guard decoder.fingerprints.count == Int(frames[ordinal].units) * Fingerprint.length else {
        frames.setState(.damaged, of: ordinal)
        return "frame \(index) has other units than it had a moment ago"
      }
      keep(decoder.fingerprints, of: ordinal)
      if plan.isBase(ordinal) { slots[ordinal] = try spool.add(plain).lowerBound }
      frames.setState(.proved, of: ordinal)
      return nil
    } catch let error as SealError where error.isDamage {
      frames.setState(.damaged, of: ordinal)
      return error.message
    }
  }

  private func keep(_ prints: [UInt8], of ordinal: Int) {
    let start = frames[ordinal].firstUnit * Fingerprint.length
    fingerprints.withUnsafeMutableBufferPointer { all in
      for (offset, byte) in prints.enumerated() { all[start + offset] = byte }
    }
  }

  private enum Prefix {
    case none
    case units([UInt8])
    /// A base of it is damaged or missing.
    case lost
    case impossible
  }

  private func prefix(of ordinal: Int) throws -> Prefix {
    let frame = frames[ordinal]
    guard !frame.bases.isEmpty else { return .none }
    var parts: [Range<Int>] = []
    for index in frame.bases {
      let run = frames.base(index)
      guard let base = frames.ordinal(of: run), frames.state(of: base) == .proved else { return .lost }
      guard let range = frames.range(of: run, in: frames[base], like: frame) else { return .impossible }
      parts.append(slots[base] + range.lowerBound..<slots[base] + range.upperBound)
    }
    guard parts.reduce(0, { $0 + $1.count }) <= Limits.prefix else { return .impossible }
    return .units(try spool.read(parts))
  }

  /// What rested on nothing but these frames is not needed any more.
  private func settle(_ wanted: [Int], of object: UInt32) throws {
    for index in wanted {
      guard let ordinal = frames.ordinal(object, UInt32(index)) else { continue }
      for free in plan.settle(ordinal) where frames.state(of: free) == .proved {
        spool.forget(slots[free]..<slots[free] + Int(frames[free].plaintextLength))
      }
    }
  }
}
