import TestKit

@testable import Repositories
@testable import Sealing

/// A version as later writers make them: an anchor of whole frames, a middle of deltas on it, a top of deltas on both,
/// each over several packs; the image takes frames of all three in turn.
struct LevelledVersion {
  static let pagesPerFrame = 8
  let manifest: StoredManifest
  let image: [UInt8]
  let packs: [PackEntry]

  /// - Parameters:
  ///   - frames: how many the image has.
  ///   - shuffled: deltas rest on frames anywhere, and the image takes frames in no order.
  init(_ home: Home, frames count: Int, shuffled: Bool = false, seed: UInt64 = 1) async throws {
    let made = HandmadeVersion(home)
    var random = SeededRandom(seed)
    func pick(_ near: Int) -> Int { shuffled ? Int(random.next() % UInt64(count)) : (near + 1) % count }
    let anchor = (0..<count).map { _ in Self.pages(&random) }
    let anchorPacks = try await Self.pack(anchor.map { made.raw($0) }, in: made)

    var middle: [[[UInt8]]] = []
    var middleFrames: [EncodedFrame] = []
    var middleBases: [(near: Int, far: Int)] = []
    for index in 0..<count {
      let far = pick(index)
      middle.append(Self.changed(anchor[index], &random))
      middleBases.append((index, far))
      let prefix = anchor[index].flatMap { $0 } + anchor[far][2...4].flatMap { $0 }
      middleFrames.append(
        made.delta(middle[index], on: [.init(anchorPacks, index), .init(anchorPacks, far, 2, 3)], prefix: prefix))
    }
    let middlePacks = try await Self.pack(middleFrames, in: made, on: anchorPacks)

    var top: [[[UInt8]]] = []
    var topFrames: [EncodedFrame] = []
    let below = Spread(names: middlePacks.names + anchorPacks.names, framesPerPack: Self.framesPerPack)
    for index in 0..<count {
      let far = pick(index)
      top.append(Self.changed(middle[index], &random))
      let prefix = middle[index].flatMap { $0 } + anchor[far].flatMap { $0 }
      let anchorFrame = middlePacks.names.count * Self.framesPerPack + far
      topFrames.append(made.delta(top[index], on: [.init(below, index), .init(below, anchorFrame)], prefix: prefix))
    }
    let topPacks = try await Self.pack(topFrames, in: made, on: below)

    var order = Array(0..<count)
    if shuffled { for index in order.indices { order.swapAt(index, Int(random.next() % UInt64(count))) } }
    var image: [UInt8] = []
    for index in order {
      let (content, spread) = [(anchor, anchorPacks), (middle, middlePacks), (top, topPacks)][index % 3]
      let number = made.packs.first { $0.name == spread.names[index / Self.framesPerPack] }?.number ?? 0
      made.place(pack: number, frame: UInt32(index % Self.framesPerPack), count: Self.pagesPerFrame)
      image += content[index].flatMap { $0 }
    }
    self.image = image
    manifest = try await made.manifest(image: image)
    packs = made.packs
  }

  private static let framesPerPack = 12

  /// Frames over packs, in order.
  fileprivate struct Spread {
    let names: [Digest]
    let framesPerPack: Int
  }

  private static func pages(_ random: inout SeededRandom) -> [[UInt8]] {
    (0..<pagesPerFrame).map { _ in random.bytes(4096) }
  }

  private static func changed(_ pages: [[UInt8]], _ random: inout SeededRandom) -> [[UInt8]] {
    pages.map { page in
      var page = page
      page[Int(random.next() % 4096)] ^= 0x55
      return page
    }
  }

  private static func pack(
    _ frames: [EncodedFrame], in made: HandmadeVersion, on base: Spread? = nil
  ) async throws -> Spread {
    var names: [Digest] = []
    for start in stride(from: 0, to: frames.count, by: framesPerPack) {
      var part = Array(frames[start..<min(start + framesPerPack, frames.count)])
      // Only base packs that are used may be named.
      let used = Set(part.flatMap(\.bases).compactMap(\.pack)).sorted()
      for index in part.indices {
        part[index].bases = part[index].bases.map { run in
          BaseRun(
            pack: run.pack.flatMap { used.firstIndex(of: $0) }.map(UInt16.init), frame: run.frame,
            firstUnit: run.firstUnit, count: run.count)
        }
      }
      names.append(try await made.pack(part, basePacks: used.compactMap { base?.names[Int($0)] }).name)
    }
    return Spread(names: names, framesPerPack: framesPerPack)
  }
}

extension BaseRun {
  fileprivate init(
    _ spread: LevelledVersion.Spread, _ frame: Int, _ first: UInt16 = 0, _ count: Int = LevelledVersion.pagesPerFrame
  ) {
    self.init(
      pack: UInt16(frame / spread.framesPerPack), frame: UInt32(frame % spread.framesPerPack), firstUnit: first,
      count: UInt16(count))
  }
}
