import Sealing
import Storage

/// Turns frames into sealed packs and stores them: each is opened again before it leaves, and holds what was put in.
///
/// At most two packs are under way; of those that have left there is where each frame came to lie, and what it costs.
struct PackStream: ~Copyable {
  private static let underWay = 2

  private let repository: Repository
  private let chain: ChainID
  private let packLength: Int
  private let state: StateFolder
  /// Seals and counts, but stores nothing.
  private let dryRun: Bool
  /// The version will be a base: units of its deltas must be found again, not only until it is acknowledged.
  private let keepsUnits: Bool

  private(set) var nextNumber: UInt32
  /// By ordinal of the frame in this push: the pack and the frame's place in it.
  private(set) var placed: [UnitLocation] = []
  /// Called as soon as a pack is safe at the target, from any task.
  private let onStored: @Sendable (PackEntry) throws -> Void
  private let finished = Locked<[PackEntry]>([])

  /// What each frame of this push, by ordinal, costs whoever restores it.
  private(set) var costs: [RestoreCost.NewFrame] = []
  private var open: [MadeFrame] = []
  private var openLength = 0
  /// The packs that these rest on.
  private var openBases: Set<Digest> = []
  private var queue: [Task<Void, any Error>] = []

  init(
    _ repository: Repository, chain: ChainID, state: StateFolder, firstNumber: UInt32, dryRun: Bool,
    keepsUnits: Bool, packLength: Int,
    onStored: @escaping @Sendable (PackEntry) throws -> Void
  ) {
    self.repository = repository
    self.chain = chain
    self.state = state
    self.dryRun = dryRun
    self.keepsUnits = keepsUnits
    self.packLength = packLength
    self.onStored = onStored
    nextNumber = firstNumber
  }

  /// Packs that are safe at the target by now, in the order they came to be.
  var stored: [PackEntry] { finished.withLock { $0 } }

  deinit { for task in queue { task.cancel() } }

  /// A pack of this push is on its way, or there.
  var hasClosed: Bool { placed.first.map { $0.pack != nextNumber } ?? false }

  /// Sealed bytes gathered for the pack that is open.
  var pendingLength: Int { openLength }

  mutating func append(_ frame: MadeFrame) async throws {
    // A pack can list no more than so many others.
    let bases = Set(frame.bases.map(\.pack))
    let further = bases.count { !openBases.contains($0) }
    if openBases.count + further > Directory.mostBasePacks { try await close() }
    openBases.formUnion(bases)
    placed.append(UnitLocation(pack: nextNumber, frame: UInt32(open.count), unit: 0))
    costs.append(RestoreCost.NewFrame(frame))
    open.append(frame)
    let encoded = frame.encoded
    let record = encoded.codec.hasPrefix ? 34 + 10 * frame.bases.count : 16 * encoded.fingerprints.count
    openLength += encoded.payload.count + 28 + record
    if openLength >= packLength { try await close() }
  }

  /// Frames too few for a pack: they ride in the manifest, as its first frames.
  mutating func takeRiders() -> [MadeFrame] {
    for index in placed.indices where placed[index].pack == nextNumber { placed[index].pack = UnitLocation.thisObject }
    defer { begin() }
    return open
  }

  /// Seals what is open and begins to store it.
  mutating func close() async throws {
    guard !open.isEmpty else { return }
    while queue.count >= Self.underWay { try await settleFirst() }
    guard nextNumber < 0xFFFF_FFFE else {
      throw RepositoryError(
        .conflict, "the chain has used up its pack numbers",
        hint: "Set \"fork\": 1 for the database to begin a new chain.")
    }
    let number = nextNumber
    let gathered = HandedOver(open)
    queue.append(
      Task { [repository, chain, state, dryRun, keepsUnits, onStored, finished] in
        let (sealed, units) = try Self.seal(gathered.take(), repository)
        if !dryRun {
          let name = Layout.pack(sealed.name, of: chain)
          try await repository.store.put(
            ObjectBody(sealed.bytes, sha256: sealed.name.bytes), at: name, ifAbsent: false)
          let end = sealed.bytes.count - 4
          state.keep(Array(sealed.bytes[end - sealed.directoryLength..<end]), as: "\(sealed.name.hex).directory")
          if let units {
            let isForGood = keepsUnits || units.holdsFiles
            state.keep(
              units.list, as: isForGood ? UnitList.name(of: sealed.name) : UnitList.passingName(of: sealed.name))
          }
          try onStored(sealed.packEntry(number: number))
        }
        finished.withLock { $0.append(sealed.packEntry(number: number)) }
      })
    nextNumber += 1
    begin()
  }

  /// Nothing is gathered yet.
  private mutating func begin() {
    open = []
    openLength = 0
    openBases = []
  }

  /// Waits until everything closed is stored.
  mutating func settle() async throws {
    while !queue.isEmpty { try await settleFirst() }
  }

  /// Stops what is under way and returns when all of it has ended: nothing is sent once the push's lock is released.
  mutating func abandon() async {
    for task in queue { task.cancel() }
    for task in queue { _ = await task.result }
    queue = []
  }

  /// Waits for the oldest upload; whoever cancels the push cancels it too. It stays in the queue until it has ended.
  private mutating func settleFirst() async throws {
    let first = queue[0]
    let result = await withTaskCancellationHandler {
      await first.result
    } onCancel: {
      first.cancel()
    }
    queue.removeFirst()
    try result.get()
  }

  /// Seals, then opens what was sealed as a reader would. The name was computed from these very bytes a moment ago.
  /// - Returns: what is sent, and of delta frames what is kept here; the frames themselves are of no use any more, and do
  ///   not wait in memory until the pack is sent.
  private static func seal(
    _ gathered: [MadeFrame], _ repository: Repository
  ) throws -> (sealed: SealedObject, units: (list: [UInt8], holdsFiles: Bool)?) {
    var basePacks = BasePacks()
    let frames = gathered.map { $0.naming(&basePacks) }
    var builder = ObjectBuilder(
      kind: .pack, keys: repository.keys, basePacks: basePacks.names, random: repository.random)
    for frame in frames { builder.add(frame) }
    let sealed = try builder.finish()
    try OpenedObject.open(sealed.bytes, kind: .pack, name: nil, keys: repository.keys)
      .demand(holding: frames, repository.keys)
    let units = UnitList.bytes(of: frames).map { list in
      // A file that shares such a frame with one that has a base is to be found again, should it not change.
      (list, holdsFiles: frames.contains { $0.codec.hasPrefix && $0.type == .block })
    }
    return (sealed, units)
  }
}

/// The frames of a pack on their way into the task that seals them: what a task captures lives as long as it does.
private final class HandedOver: Sendable {
  private let frames: Locked<[MadeFrame]>

  init(_ frames: [MadeFrame]) { self.frames = Locked(frames) }

  /// Once; then they are the caller's.
  func take() -> [MadeFrame] {
    frames.withLock { frames in
      defer { frames = [] }
      return frames
    }
  }
}
