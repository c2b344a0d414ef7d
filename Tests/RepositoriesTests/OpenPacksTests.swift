import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The packs that whoever reads a version has open: its bases are from anywhere, and so are the directories that say where
/// those lie.
@Suite struct OpenPacksTests {
  /// Of two to five pages, or of blocks of several lengths; each fourth rests on the three before it.
  private static func frames(_ count: Int, seed: Int) -> [EncodedFrame] {
    (0..<count).map { number in
      let units = 2 + (number + seed) % 4
      let isDelta = number % 4 == 3
      let lengths =
        number < 8
        ? UnitLengths(uniform: 4096, count: units) : UnitLengths((0..<units).map { 100 * seed + number + $0 })
      return EncodedFrame(
        codec: isDelta ? .zstdWithPrefix : .zstd, type: number < 8 ? .page : .block, unitLengths: lengths,
        fingerprints: (0..<units).map { Fingerprint(high: UInt64(seed * 1000 + number), low: UInt64($0)) },
        bases: isDelta
          ? [
            BaseRun(pack: nil, frame: UInt32(number - 1), firstUnit: 1, count: 1),
            BaseRun(pack: 0, frame: 7, firstUnit: 3, count: 9), BaseRun(pack: 1, frame: 70_000, firstUnit: 2, count: 1),
          ] : [],
        payload: [UInt8](repeating: 0, count: 50 + 10 * number + seed))
    }
  }

  private static func directory(of frames: [EncodedFrame], seed: Int) throws -> Directory {
    try Directory(
      decoding: Directory.encode(
        basePacks: [.sha256(of: [UInt8(seed)]), .sha256(of: [UInt8(seed), 1])], frames: frames, meta: []), kind: .pack,
      end: Header.length + frames.reduce(0) { $0 + $1.payload.count + AuthenticatedCipher.tagLength })
  }

  @Test func `the tables say of each frame what its directory says, but for fingerprints`() throws {
    let scratch = try Scratch()
    let tables = try DirectoryTables(in: scratch.path)
    let directories = try (1...5).map { try Self.directory(of: Self.frames(8 + 4 * $0, seed: $0), seed: $0) }
    let tabled = try directories.map { try tables.add($0) }
    for (directory, tabled) in zip(directories, tabled) {
      #expect(Array(tabled.basePacks) == directory.basePacks)
      #expect(tabled.frames.count == directory.frames.count)
      for (index, frame) in directory.frames.enumerated() {
        #expect(tabled.frames.sealedRange(of: index) == frame.sealedRange)
        let same = tabled.frames[index]
        #expect((same.offset, same.sealedLength) == (frame.offset, frame.sealedLength))
        #expect((same.codec, same.type, same.frameID) == (frame.codec, frame.type, frame.frameID))
        #expect((same.unitLengths, same.bases) == (frame.unitLengths, frame.bases))
        #expect(same.fingerprints.isEmpty && frame.fingerprints.isEmpty == frame.codec.hasPrefix)
      }
    }
  }

  @Test func `each directory is asked for once, however often its frames are`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50)
    let table = try await PackTable(of: version.manifest, repository: home.repository, state: nil)
    let tally = TallyingStore(home.store)
    let repository = Repository(
      store: tally, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let packs = try OpenPacks(table, repository: repository, chain: home.chain, state: nil, in: home.stateFolder)
    for _ in 1...3 {
      for entry in table.all { _ = try await packs.frame(FramePlace(pack: entry.number, frame: 0)) }
    }
    #expect(table.all.count > 1)
    #expect(tally.tally.gets == table.all.count)
  }

  @Test func `a directory that does not open is told with its pack, and what can still be done`() async throws {
    let home = try await Home()
    let image = home.image(pages: 100, seed: 1)
    let pushed = try await home.push(image)
    let table = try await PackTable(of: pushed.manifest, repository: home.repository, state: nil)
    let entry = try #require(table.all.first)
    home.store.content[Layout.pack(entry.name, of: home.chain)]?[entry.directoryRange.lowerBound] ^= 1
    let packs = try OpenPacks(table, repository: home.repository, chain: home.chain, state: nil)
    let error = await #expect(throws: SealError.self) { _ = try await packs.open(entry.number) }
    #expect(error?.code == .damaged)
    #expect(error?.message.hasPrefix("pack \(entry.name.hex.prefix(12)): ") == true, "\(String(describing: error))")
    #expect(error?.hint?.contains("sealift check --read-data") == true)
  }

  /// Of a machine that can keep none of them.
  @Test func `what a reader learnt of a pack for one member serves the next`() async throws {
    let home = try await Home()
    let image = home.noise(300 * 4096, seed: 1)
    let content = home.noise(1 << 20, seed: 2)
    let companion = CompanionSource(path: "file", mode: 0o600, modified: 1, content: .file { StillFile(content) })
    let pushed = try await home.push(length: image.count, companions: [companion], read: { Array(image[$0]) })
    let tally = TallyingStore(home.store)
    let repository = Repository(
      store: tally, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    func requests(sharing: Bool) async throws -> Int {
      let readers = try await [
        VersionReader(pushed.manifest, repository: repository, state: nil, tables: home.stateFolder),
        VersionReader(pushed.manifest, repository: repository, state: nil, tables: home.stateFolder),
      ]
      let before = tally.tally.gets
      let destination = MemoryDestination(of: readers[0])
      try await readers[0].read(member: 0, into: destination) { _ in }
      let other = RoomFor(content.count)
      try await readers[sharing ? 0 : 1].read(members: [1], into: { _ in other }) { _ in }
      #expect(destination.content == image && other.content == content)
      return tally.tally.gets - before
    }
    let (shared, apart) = (try await requests(sharing: true), try await requests(sharing: false))
    #expect(shared < apart)
  }

  private final class RoomFor: MemberDestination {
    private let bytes: Locked<[UInt8]>
    var content: [UInt8] { bytes.withLock { $0 } }

    init(_ count: Int) { bytes = Locked([UInt8](repeating: 0, count: count)) }

    func write(_ part: ArraySlice<UInt8>, at offset: Int) {
      bytes.withLock { $0.replaceSubrange(offset..<offset + part.count, with: part) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
      bytes.withLock { buffer.copyBytes(from: $0[offset..<offset + buffer.count]) }
    }
  }
}
