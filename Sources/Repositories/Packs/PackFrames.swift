import Sealing
import Storage

/// Reads single frames of one pack by range: nodes of maps and tables, and the bases of delta frames.
struct PackFrames: Sendable {
  let entry: PackEntry
  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder?

  init(_ entry: PackEntry, repository: Repository, chain: ChainID, state: StateFolder?) {
    self.entry = entry
    self.repository = repository
    self.chain = chain
    self.state = state
  }

  func directory() async throws -> Directory {
    try await repository.directory(of: entry, chain: chain, state: state)
  }

  /// What lies there of the pack, in one request.
  func sealed(in range: Range<Int>) async throws -> [UInt8] {
    try await repository.part(range, of: entry, chain: chain)
  }

  /// One node.
  /// - Throws: `.damaged` when there is no such frame, or one of other units; `SealError`; `StoreError`.
  func node(_ unit: Int, ofFrame index: Int) async throws -> [UInt8] {
    let directory = try await directory()
    guard directory.frames.indices.contains(index) else { throw Self.missing(index, entry) }
    let record = directory.frames[index]
    guard record.type == .node else { throw FrameRecord.noNode() }
    let keys = try PackReader(entry: entry, keys: repository.keys).objectKeys
    let plain = try await repository.part(record.sealedRange, of: entry, chain: chain) { bytes in
      try FrameDecoder(keys: repository.keys).decode(
        bytes[...], record: record, index: index, objectKeys: keys, prefix: nil)
    }
    return try record.slice(plain, unit: unit)
  }

  /// Says in which pack a frame is that cannot be opened.
  static func naming<Value>(_ entry: PackEntry, _ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error as SealError { throw error.of(entry) }
  }

  static func missing(_ index: Int, _ entry: PackEntry) -> RepositoryError {
    RepositoryError(
      .damaged, "a map points at frame \(index) of pack \(entry.name.hex.prefix(12)), which has no such frame")
  }
}

extension Repository {
  /// A part of a pack that an authentic manifest says is there.
  /// - Throws: `.damaged` when the pack is missing or cut, or the target cannot read it; `StoreError`.
  func part(_ range: Range<Int>, of entry: PackEntry, chain: ChainID) async throws -> [UInt8] {
    let bytes: [UInt8]
    do throws(StoreError) {
      bytes = try await store.get(Layout.pack(entry.name, of: chain), range: range)
    } catch {
      if error.code == .unreadable { throw RepositoryError(unreadable: entry, error) }
      guard error.code == .notFound || error.code == .badRange else { throw error }
      throw RepositoryError(
        .damaged, "pack \(entry.name.hex.prefix(12)) is missing or cut at the target",
        hint:
          "Versions that need it cannot be restored: `sealift check` names them, and `sealift pull NAME@TIME` tries an older one.",
        cause: error)
    }
    guard bytes.count == range.count else {
      throw RepositoryError(.damaged, "the target gave \(bytes.count) of \(range.count) bytes of a pack")
    }
    return bytes
  }

  /// The same, opened. What does not open is asked for once more: parts have no hash of their own, and one bad answer says
  /// nothing of the pack.
  func part<Opened>(
    _ range: Range<Int>, of entry: PackEntry, chain: ChainID, opening open: ([UInt8]) throws -> Opened
  ) async throws -> Opened {
    do {
      return try open(try await part(range, of: entry, chain: chain))
    } catch let error as SealError where error.isDamage {
      return try open(try await part(range, of: entry, chain: chain))
    }
  }
}

extension SealError {
  /// The same, saying in which pack it is, and what can still be done.
  func of(_ pack: PackEntry) -> SealError {
    SealError(
      code, "pack \(pack.name.hex.prefix(12)): \(message)",
      hint: hint
        ?? "Versions that do not need it can still be restored: `sealift check --read-data` reads everything and names those that do, and `sealift pull NAME@TIME` tries an older one."
    )
  }
}

extension RepositoryError {
  fileprivate init(unreadable entry: PackEntry, _ cause: StoreError) {
    let way =
      "`sealift repair --pack \(entry.name.hex)` saves the versions that need it where it can, and `sealift pull NAME@TIME` tries an older one."
    self.init(
      .damaged, "pack \(entry.name.hex.prefix(12)) cannot be read at the target: \(cause.message)",
      hint: cause.hint.map { "\($0) \(way)" } ?? way, cause: cause)
  }
}

extension FrameRecord {
  static func noNode() -> RepositoryError {
    RepositoryError(.damaged, "a manifest points at a node in a frame that holds none")
  }

  /// The bytes of one unit of the decoded frame.
  func slice(_ plain: [UInt8], unit: Int) throws -> [UInt8] {
    guard unitLengths.indices.contains(unit) else {
      throw RepositoryError(.damaged, "a map points at unit \(unit) of a frame that has \(unitLengths.count)")
    }
    let start = unitOffset(unit)
    return Array(plain[start..<start + unitLengths[unit]])
  }
}

extension OpenedObject {
  /// One node inside this object.
  /// - Throws: as of `PackFrames.node`.
  func node(_ unit: Int, ofFrame index: Int, with decoder: FrameDecoder) throws -> [UInt8] {
    guard directory.frames.indices.contains(index) else {
      throw RepositoryError(.damaged, "a manifest points at frame \(index) of its own, which it does not have")
    }
    guard directory.frames[index].type == .node else { throw FrameRecord.noNode() }
    return try directory.frames[index].slice(try decodeFrame(index, with: decoder), unit: unit)
  }
}
