import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The packs that a restore keeps open: its bases are from anywhere, and a directory that was let go of is read, opened and
/// decoded anew.
@Suite struct OpenPacksTests {
  private static let unitsPerFrame = 256

  private static func frame(_ number: Int, base: Int? = nil) -> EncodedFrame {
    EncodedFrame(
      codec: base == nil ? .zstd : .zstdWithPrefix, type: .page,
      unitLengths: UnitLengths(uniform: 1024, count: unitsPerFrame),
      fingerprints: (0..<unitsPerFrame).map { Fingerprint(high: UInt64(number), low: UInt64($0)) },
      bases: base.map { [BaseRun(pack: nil, frame: UInt32($0), firstUnit: 0, count: 1)] } ?? [],
      payload: [UInt8](repeating: 0, count: 84))
  }

  private static func directory(of frames: [EncodedFrame]) throws -> Directory {
    try Directory(
      decoding: Directory.encode(basePacks: [], frames: frames, meta: []), kind: .pack,
      end: Header.length + 100 * frames.count)
  }

  @Test func `without the fingerprints of units a directory says the same of each frame`() throws {
    let frames = try Self.directory(of: [Self.frame(1), Self.frame(2), Self.frame(3, base: 1)]).frames
    let bare = try Self.directory(of: [Self.frame(1), Self.frame(2), Self.frame(3, base: 1)]).withoutFingerprints.frames
    #expect(frames.map(\.fingerprints.count) == [Self.unitsPerFrame, Self.unitsPerFrame, 0])
    for (frame, bare) in zip(frames, bare) {
      #expect(bare.fingerprints.isEmpty)
      #expect((bare.offset, bare.sealedLength) == (frame.offset, frame.sealedLength))
      #expect((bare.codec, bare.type, bare.frameID) == (frame.codec, frame.type, frame.frameID))
      #expect((bare.unitLengths, bare.bases) == (frame.unitLengths, frame.bases))
    }
  }

  /// Their fingerprints are 160 MiB.
  @Test func `it is light enough for ten GiB of pages to be kept`() throws {
    let frames = (0..<64).map { Self.frame($0) }
    let directory = try Self.directory(of: frames)
    let content = frames.count * Self.unitsPerFrame * 1024
    #expect(directory.weight * ((10 << 30) / content) > 100 << 20)
    #expect(directory.withoutFingerprints.weight * ((10 << 30) / content) <= OpenPacks.limit)
  }

  @Test func `a directory that does not open is told with its pack, and what can still be done`() async throws {
    let home = try await Home()
    let image = home.image(pages: 100, seed: 1)
    let pushed = try await home.push(image)
    let table = try await PackTable(of: pushed.manifest, repository: home.repository, state: nil)
    let entry = try #require(table.all.first)
    home.store.content[Layout.pack(entry.name, of: home.chain)]?[entry.directoryRange.lowerBound] ^= 1
    let packs = OpenPacks(table, repository: home.repository, chain: home.chain, state: nil)
    let error = await #expect(throws: SealError.self) { _ = try await packs.open(entry.number) }
    #expect(error?.code == .damaged)
    #expect(error?.message.hasPrefix("pack \(entry.name.hex.prefix(12)): ") == true, "\(String(describing: error))")
    #expect(error?.hint?.contains("sealift check --read-data") == true)
  }

  @Test func `a restore keeps no fingerprints, and whoever asks for them does`() async throws {
    let home = try await Home()
    let image = home.image(pages: 100, seed: 1)
    let pushed = try await home.push(image)
    let table = try await PackTable(of: pushed.manifest, repository: home.repository, state: nil)
    let number = try #require(table.all.first).number
    for keeps in [false, true] {
      let packs = OpenPacks(
        table, repository: home.repository, chain: home.chain, state: nil, keepsFingerprints: keeps)
      _ = try await packs.open(number)
      let frames = try #require(packs.kept(number)).directory.frames
      #expect(frames.contains { !$0.fingerprints.isEmpty } == keeps)
    }
  }
}
