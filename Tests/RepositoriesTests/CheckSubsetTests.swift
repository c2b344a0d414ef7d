import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// How much a check reads that is told to read some of it.
@Suite struct CheckSubsetTests {
  /// Frames of a page each, with payloads of these lengths; a frame rests on what is named with it.
  private static func directory(
    _ frames: [(length: Int, bases: [(pack: UInt16?, frame: UInt32)])], on basePacks: [Digest] = []
  ) throws -> Directory {
    let encoded = frames.enumerated().map { number, frame in
      EncodedFrame(
        codec: frame.bases.isEmpty ? .zstd : .zstdWithPrefix, type: .page,
        unitLengths: UnitLengths(uniform: 4096, count: 1),
        fingerprints: [Fingerprint(high: UInt64(number), low: UInt64(frame.length))],
        bases: frame.bases.map { BaseRun(pack: $0.pack, frame: $0.frame, firstUnit: 0, count: 1) },
        payload: [UInt8](repeating: 0, count: frame.length))
    }
    return try Directory(
      decoding: Directory.encode(basePacks: basePacks, frames: encoded, meta: []), kind: .pack,
      end: Header.length + encoded.reduce(0) { $0 + $1.payload.count + AuthenticatedCipher.tagLength })
  }

  /// Three packs: the second and third hold deltas on the first, the third also on the second.
  private static func threePacks(in folder: String) throws -> (frames: ChainFrames, names: [Digest]) {
    let frames = try ChainFrames(in: folder)
    let names = (1...3).map { Digest.sha256(of: [UInt8($0)]) }
    let directories = [
      try directory([(1000, []), (2000, []), (4000, [])]),
      try directory([(100, [(pack: 0, frame: 0)]), (200, [(pack: nil, frame: 0)])], on: [names[0]]),
      try directory([(10, [(pack: 0, frame: 1), (pack: 1, frame: 2)])], on: [names[1], names[0]]),
    ]
    for (name, directory) in zip(names, directories) { try frames.add(frames.intern(name), directory, content: [:]) }
    return (frames, names)
  }

  private static let tag = AuthenticatedCipher.tagLength

  @Test func `what deltas rest on weighs, each frame once`() throws {
    let scratch = try Scratch()
    let (frames, names) = try Self.threePacks(in: scratch.path)
    let weight = try ReadingWeight(frames, in: scratch.path)
    #expect(weight.add(names[2], size: 500) == 500 + 200 + 100 + 1000 + 4000 + 4 * Self.tag)
    // All of its frames but none of the rest was counted, and what they rest on.
    #expect(weight.add(names[1], size: 700) == 700 - 300 - 2 * Self.tag)
    #expect(weight.add(names[0], size: 9000) == 9000 - 5000 - 2 * Self.tag)
  }

  @Test func `a pack that rests on nothing weighs as much as it is long`() throws {
    let scratch = try Scratch()
    let (frames, names) = try Self.threePacks(in: scratch.path)
    let weight = try ReadingWeight(frames, in: scratch.path)
    #expect(weight.add(names[0], size: 9000) == 9000)
    #expect(weight.add(names[1], size: 700) == 700)
    // Of which nobody knows the directory, or whose listing boasts, or says less than its frames.
    #expect(weight.add(.sha256(of: [4]), size: 123) == 123)
    #expect(weight.add(names[2], size: .max) == .max)
    #expect(weight.add(names[0], size: 1) == 0)
  }

  @Test func `a size is not exceeded by more than one pack and what it rests on`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = (1...3).map { home.noise(4096, seed: $0) }
    let base = try await made.pack(pages.map { made.raw([$0]) })
    let changed = pages.map { [1] + $0.dropFirst() }
    let deltas = pages.indices.map { page in
      made.delta(
        [changed[page]], on: [BaseRun(pack: 0, frame: UInt32(page), firstUnit: 0, count: 1)], prefix: pages[page])
    }
    let top = try await made.pack(deltas, basePacks: [base.name])
    for frame in 0..<UInt32(pages.count) { made.place(pack: top.number, frame: frame, count: 1) }
    for page in pages.indices { made.place(pack: base.number, frame: UInt32(page), count: 1) }
    _ = try await made.manifest(image: changed.flatMap { $0 } + pages.flatMap { $0 })
    let state = try home.state
    for _ in 0..<20 {
      // It has room for the deltas, but not for what they rest on.
      let report = try await RepositoryCheck(
        home.repository, state: state, tables: state.path, subset: .bytes(Int(top.length) + 1)
      ).run()
      #expect(report.isSound && report.chains.first?.packs == 2)
      #expect(report.chains.first?.packsRead == 1)
    }
  }
}
