import Sealing
import Storage

/// An object that is to be decoded, and what was fetched of it: all of a pack that was chosen, of others only the frames
/// that frames of other packs rest on.
struct FetchedObject: Sendable {
  let job: ReadingPlan.Job
  private(set) var directory: Directory?
  private(set) var keys: ObjectKeys?
  private(set) var manifest: StoredManifest?
  /// Sealed, by the frame's index.
  private(set) var sealed: [Int: ArraySlice<UInt8>] = [:]
  private(set) var length = 0
  /// Its bytes were not compared with its name: what does not open may have come garbled.
  private(set) var isInParts: Bool
  private(set) var finding: CheckFinding?

  /// - Parameters:
  ///   - wanted: the frames that are to be decoded, by their indices, ascending.
  ///   - onProgress: bytes fetched.
  /// - Throws: `StoreError`, `.stateFolder`. What is wrong with a pack is a finding.
  init(
    _ job: ReadingPlan.Job, of frames: ChainFrames, wanted: [Int], _ repository: Repository, chain: ChainID,
    spool: ScratchSpool, _ onProgress: (Int) -> Void
  ) async throws {
    self.job = job
    isInParts = !job.isWhole
    if let manifest = job.manifest {
      let opened = try manifest.open(in: spool, repository)
      self.manifest = opened
      directory = opened.object.directory
      return
    }
    guard let entry = frames.objects[Int(job.object)].entry else { return }
    let name = Layout.pack(entry.name, of: chain)
    let pack = PackFrames(entry, repository: repository, chain: chain, state: nil)
    do {
      // An entry may name an epoch that the keyring does not hold: that pack is damaged, and others are read.
      let reader = try PackReader(entry: entry, keys: repository.keys)
      keys = reader.objectKeys
      if job.isWhole {
        try await fetchAll(of: pack, reader, name, repository)
      } else {
        try await fetch(wanted, of: pack, name, repository)
      }
    } catch let error where error.isLater {
      finding = finding ?? CheckFinding.later(name, "a pack")
    } catch let error where error.isDamage {
      finding = finding ?? CheckFinding.damaged(pack: name, error)
    }
    onProgress(length)
  }

  private mutating func fetchAll(
    of pack: PackFrames, _ reader: PackReader, _ name: ObjectName, _ repository: Repository
  ) async throws {
    do {
      try await fetchWhole(of: pack.entry, reader, name, repository)
    } catch let error where error.isUnreadable {
      finding = CheckFinding.damaged(pack: name, error)
      let directory = try await pack.directory()
      try await fetchEach(Array(directory.frames.indices), of: directory, in: pack, repository)
    }
  }

  private mutating func fetchWhole(
    of entry: PackEntry, _ reader: PackReader, _ name: ObjectName, _ repository: Repository
  ) async throws {
    guard let bytes = try await repository.store.present(name) else {
      finding = CheckFinding(name, .missing, "a pack is missing")
      return
    }
    length = bytes.count
    finding = try Self.problem(of: bytes, entry, name, repository)
    guard bytes.count >= entry.directoryRange.upperBound else { return }
    let directory = try reader.openDirectory(Array(bytes[entry.directoryRange]))
    self.directory = directory
    for (index, record) in directory.frames.enumerated() { sealed[index] = bytes[record.sealedRange] }
  }

  /// What is wrong with the bytes of a whole pack, if anything.
  /// - Throws: what says nothing of them, such as a lack of memory.
  private static func problem(
    of bytes: [UInt8], _ entry: PackEntry, _ name: ObjectName, _ repository: Repository
  ) throws -> CheckFinding? {
    guard bytes.count == Int(entry.length) else {
      return CheckFinding(name, .cut, "a pack has \(bytes.count) bytes instead of \(entry.length)")
    }
    guard Digest.sha256(of: bytes) == entry.name else {
      return CheckFinding(name, .damaged, "the bytes of a pack are not those its name says")
    }
    do {
      _ = try OpenedObject.open(bytes, kind: .pack, name: nil, keys: repository.keys)
      return nil
    } catch let error where error.isLater {
      return CheckFinding.later(name, "a pack")
    } catch {
      guard error.isDamage else { throw error }
      return CheckFinding(name, .damaged, "a pack cannot be opened: \(error)")
    }
  }

  private mutating func fetch(
    _ wanted: [Int], of pack: PackFrames, _ name: ObjectName, _ repository: Repository
  ) async throws {
    let records = try await pack.directory()
    directory = records
    let stretches = records.stretches(of: wanted)
    let answers: [[UInt8]]
    do {
      answers = try await bounded(stretches, atOnce: repository.store.traits.concurrency) { part in
        try await pack.sealed(in: part.stretch.range)
      }
    } catch let error where error.isUnreadable {
      finding = CheckFinding.damaged(pack: name, error)
      return try await fetchEach(wanted.filter(records.frames.indices.contains), of: records, in: pack, repository)
    }
    for ((stretch, indices), bytes) in zip(stretches, answers) {
      length += bytes.count
      for index in indices { sealed[index] = stretch.sealed(records.frames[index], in: bytes) }
    }
  }

  /// Frames by themselves, as far as they can be read. That the pack is damaged is known already: it harms the versions
  /// that need what is lost, and no others.
  private mutating func fetchEach(
    _ wanted: [Int], of directory: Directory, in pack: PackFrames, _ repository: Repository
  ) async throws {
    self.directory = directory
    isInParts = true
    let answers = try await bounded(wanted, atOnce: repository.store.traits.concurrency) { index in
      try await pack.sealedUnlessDamaged(in: directory.frames[index].sealedRange)
    }
    for (index, bytes) in zip(wanted, answers) {
      guard let bytes else { continue }
      sealed[index] = bytes[...]
      length += bytes.count
    }
  }
}

extension PackFrames {
  fileprivate func sealedUnlessDamaged(in range: Range<Int>) async throws -> [UInt8]? {
    do { return try await sealed(in: range) } catch let error where error.isDamage { return nil }
  }
}
