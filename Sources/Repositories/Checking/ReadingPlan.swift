import Sealing

/// In which order packs and manifests are read, so that whatever a delta rests on is decoded before it; and which
/// frames of packs that were not chosen are needed for that.
struct ReadingPlan: Sendable {
  struct Job: Sendable {
    let object: UInt32
    /// A pack that is fetched whole; of others only the frames that are wanted.
    let isWhole: Bool
    /// `nil` for a pack.
    let manifest: HeldManifest?
  }

  private(set) var jobs: [Job] = []
  private let frames: ChainFrames
  /// By frame, whether it is decoded.
  private let wanted: FileTable<UInt8>
  /// By frame, how many runs of wanted frames rest on it and were not decoded yet.
  private let dependents: FileTable<UInt32>

  /// - Parameters:
  ///   - chosen: packs to read whole.
  ///   - manifests: whose riders are to be decoded too, with the number of their objects.
  /// - Throws: `.stateFolder`.
  init(
    _ chosen: Set<Digest>, manifests: [(object: UInt32, manifest: HeldManifest)], of frames: ChainFrames,
    in folder: String
  ) throws(RepositoryError) {
    self.frames = frames
    wanted = try FileTable(capacity: frames.count, count: frames.count, in: folder)
    dependents = try FileTable(capacity: frames.count, count: frames.count, in: folder)

    var ordered: [(order: Int, job: Job)] = []
    for (number, object) in frames.objects.enumerated() {
      guard let entry = object.entry, object.frames != nil || chosen.contains(object.name) else { continue }
      ordered.append(
        (
          2 * Int(entry.number),
          Job(object: UInt32(number), isWhole: chosen.contains(object.name), manifest: nil)
        ))
    }
    for (object, manifest) in manifests {
      ordered.append(
        (2 * Int(manifest.nextPackNumber) - 1, Job(object: object, isWhole: true, manifest: manifest)))
    }
    ordered.sort { ($0.order, $0.job.object) < ($1.order, $1.job.object) }
    for (_, job) in ordered.reversed() { mark(job) }
    jobs = ordered.map(\.job).filter { [frames, wanted] job in
      job.isWhole || (frames.objects[Int(job.object)].frames ?? 0..<0).contains { wanted[$0] != 0 }
    }
  }

  /// The wanted frames of a job, by their index in the object.
  func wantedFrames(of job: Job) -> [Int] {
    let range = frames.objects[Int(job.object)].frames ?? 0..<0
    return range.filter { wanted[$0] != 0 }.map { $0 - range.lowerBound }
  }

  func isBase(_ ordinal: Int) -> Bool { dependents[ordinal] > 0 }

  /// Notes that a frame was decoded, or never will be.
  /// - Returns: the frames that nothing rests on any more.
  func settle(_ ordinal: Int) -> [Int] {
    var free: [Int] = []
    for index in frames[ordinal].bases {
      guard let base = frames.ordinal(of: frames.base(index)), dependents[base] > 0 else { continue }
      dependents[base] -= 1
      if dependents[base] == 0 { free.append(base) }
    }
    return free
  }

  /// From the last object to the first, so that bases of bases are wanted too.
  private func mark(_ job: Job) {
    for ordinal in (frames.objects[Int(job.object)].frames ?? 0..<0).reversed()
    where job.isWhole || wanted[ordinal] != 0 {
      wanted[ordinal] = 1
      for index in frames[ordinal].bases {
        guard let base = frames.ordinal(of: frames.base(index)) else { continue }
        wanted[base] = 1
        dependents[base] += 1
      }
    }
  }
}
