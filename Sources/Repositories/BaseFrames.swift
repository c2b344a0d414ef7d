import Sealing
import Storage

/// The frames that delta frames rest on, decoded, the latest few kept (`Docs/Format.md` §4.4).
actor BaseFrames {
  /// Depth beyond which a reader refuses.
  private static let depthLimit = 8
  /// Decoded frames kept: 64 of 256 KiB are 16 MiB.
  private static let kept = 64

  private let table: PackTable
  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder?
  private var frames: [Place: (plain: [UInt8], record: FrameRecord, depth: Int)] = [:]
  private var order: [Place] = []

  private struct Place: Hashable {
    let pack: Digest
    let frame: Int
  }

  init(table: PackTable, repository: Repository, chain: ChainID, state: StateFolder?) {
    self.table = table
    self.repository = repository
    self.chain = chain
    self.state = state
  }

  /// The prefix a delta frame is decoded with; `nil` for a frame that rests on nothing.
  func prefix(of record: FrameRecord, in directory: Directory, _ entry: PackEntry) async throws -> [UInt8]? {
    try await resolve(record, directory, entry, above: 0)?.prefix
  }

  private func resolve(
    _ record: FrameRecord, _ directory: Directory, _ entry: PackEntry, above: Int
  ) async throws -> (prefix: [UInt8], depth: Int)? {
    guard record.codec.hasPrefix else { return nil }
    guard above < Self.depthLimit else { throw tooDeep() }
    var prefix: [UInt8] = []
    var depth = 0
    for run in record.bases {
      let base = try await frame(Int(run.frame), of: try pack(of: run, directory, entry), above: above + 1)
      depth = max(depth, base.depth)
      prefix += try base.record.units(Int(run.firstUnit), count: Int(run.count), of: base.plain, like: record)
      guard prefix.count <= Limits.prefix else {
        throw RepositoryError(.damaged, "a delta rests on more than \(Limits.prefix) bytes")
      }
    }
    guard depth + 1 <= Self.depthLimit else { throw tooDeep() }
    return (prefix, depth + 1)
  }

  private func frame(
    _ index: Int, of entry: PackEntry, above: Int
  ) async throws -> (plain: [UInt8], record: FrameRecord, depth: Int) {
    let place = Place(pack: entry.name, frame: index)
    if let held = frames[place] { return held }
    let pack = PackFrames(entry, repository: repository, chain: chain, state: state)
    let directory = try await pack.directory()
    guard directory.frames.indices.contains(index) else { throw PackFrames.missing(index, entry) }
    let record = directory.frames[index]
    let below = try await resolve(record, directory, entry, above: above)
    let sealed = try await pack.sealed(record, through: record)
    let plain = try FrameDecoder(keys: repository.keys).decode(
      sealed[...], record: record, index: index,
      objectKeys: PackReader(entry: entry, keys: repository.keys).objectKeys, prefix: below?.prefix)
    let decoded = (plain: plain, record: record, depth: below?.depth ?? 0)
    if frames.updateValue(decoded, forKey: place) == nil { order.append(place) }
    if order.count > Self.kept { frames[order.removeFirst()] = nil }
    return decoded
  }

  private func pack(of run: BaseRun, _ directory: Directory, _ entry: PackEntry) throws -> PackEntry {
    guard let name = run.pack.map({ directory.basePacks[Int($0)] }) else { return entry }
    guard let base = table[name] else {
      throw RepositoryError(.damaged, "a delta rests on pack \(name.hex.prefix(12)), which is not in the pack table")
    }
    return base
  }

  private func tooDeep() -> RepositoryError {
    RepositoryError(.damaged, "a delta rests on more than \(Self.depthLimit) others")
  }
}

extension FrameRecord {
  /// Units of this decoded frame, joined, for the prefix of `other`: same type, for pages the same length.
  fileprivate func units(_ first: Int, count: Int, of plain: [UInt8], like other: FrameRecord) throws -> ArraySlice<
    UInt8
  > {
    guard count > 0, first + count <= unitLengths.count, type == other.type,
      type != .page || unitLengths[first] == other.unitLengths[0]
    else { throw RepositoryError(.damaged, "a delta names bases that cannot be its own") }
    let last = first + count - 1
    return plain[unitOffset(first)..<unitOffset(last) + unitLengths[last]]
  }
}
