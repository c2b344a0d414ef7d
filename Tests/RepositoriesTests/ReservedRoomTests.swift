import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Before anything is fetched, a destination takes room for what is going to be written, and for nothing else.
@Suite struct ReservedRoomTests {
  /// Notes what it is told.
  private final class Room: MemberDestination {
    let reserved = Locked<[Range<Int>]>([])
    let written = Locked<[Range<Int>]>([])
    let complete: Int
    private let memory: MemoryDestination

    init(of reader: VersionReader, complete: Int = 0, holding content: ArraySlice<UInt8> = []) {
      memory = MemoryDestination(of: reader)
      self.complete = complete
      memory.write(content, at: 0)
    }

    func reserve(_ range: Range<Int>) { reserved.withLock { $0.append(range) } }
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
      written.withLock { $0.append(offset..<offset + bytes.count) }
      memory.write(bytes, at: offset)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) { memory.read(into: buffer, at: offset) }
  }

  private func image(_ pages: [(count: Int, isZero: Bool)], _ home: Home) -> [UInt8] {
    pages.enumerated().flatMap { index, part in
      part.isZero
        ? [UInt8](repeating: 0, count: part.count * 4096) : home.noise(part.count * 4096, seed: UInt64(index))
    }
  }

  @Test func `long runs of zeros get no room, short ones lie in what is beside them`() async throws {
    let home = try await Home()
    // 40 pages with a short run of zeros among them, 2 MiB of zeros, 30 pages, zeros to the end.
    let image = image([(20, false), (4, true), (16, false), (512, true), (30, false), (300, true)], home)
    let manifest = try await home.push(image).manifest
    let reader = try await VersionReader(manifest, repository: home.repository, state: nil)
    let room = Room(of: reader)
    try await reader.read(member: 0, into: room, onProgress: { _ in })
    let reserved = room.reserved.withLock { $0 }
    #expect(reserved.map(\.lowerBound) == [0, 552 * 4096])
    #expect(reserved.map(\.upperBound) == [40 * 4096, 582 * 4096])
    for part in room.written.withLock({ $0 }) {
      #expect(reserved.contains { $0.lowerBound <= part.lowerBound && part.upperBound <= $0.upperBound })
    }
  }

  @Test func `what stands there from an earlier reading needs none`() async throws {
    let home = try await Home()
    let image = image([(40, false)], home)
    let manifest = try await home.push(image).manifest
    let reader = try await VersionReader(manifest, repository: home.repository, state: nil)
    let room = Room(of: reader, complete: 10 * 4096, holding: image[..<(10 * 4096)])
    try await reader.read(member: 0, into: room, onProgress: { _ in })
    let expected = 10 * 4096..<40 * 4096
    #expect(room.reserved.withLock { $0 } == [expected])
  }

  @Test func `where there is no room, nothing is fetched`() async throws {
    struct Full: Error {}
    struct FullDisk: MemberDestination {
      func reserve(_ range: Range<Int>) throws { throw Full() }
      func write(_ bytes: ArraySlice<UInt8>, at offset: Int) { Issue.record("nothing is to be written") }
      func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {}
    }
    let home = try await Home()
    let image = image([(2000, false)], home)
    let manifest = try await home.push(image).manifest
    let tally = TallyingStore(home.store)
    let repository = Repository(
      store: tally, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let reader = try await VersionReader(manifest, repository: repository, state: nil)
    await #expect(throws: Full.self) { try await reader.read(member: 0, into: FullDisk(), onProgress: { _ in }) }
    #expect(tally.tally.bytesDown < 1 << 20)
  }
}
