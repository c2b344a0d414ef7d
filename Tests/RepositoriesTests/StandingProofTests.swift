import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a restore proves is what stands in its destination, not what it decoded or meant to write.
@Suite struct StandingProofTests {
  /// Whole frames, and deltas over three levels.
  private func version(_ home: Home) async throws -> (manifest: StoredManifest, image: [UInt8]) {
    let version = try await LevelledVersion(home, frames: 40)
    return (version.manifest, version.image)
  }

  private func restore(
    _ home: Home, _ manifest: StoredManifest, displace: @escaping @Sendable (Int) -> Int?
  ) async throws -> [UInt8] {
    let reader = try await VersionReader(manifest, repository: home.repository, state: nil)
    let destination = MemoryDestination(of: reader, displace: displace)
    try await reader.read(member: 0, into: destination, onProgress: { _ in })
    return destination.content
  }

  /// Eight pages to a frame, each frame one write.
  private static let run = 8 * 4096

  @Test func `what is written where it belongs is proved`() async throws {
    let home = try await Home()
    let version = try await version(home)
    #expect(try await restore(home, version.manifest) { $0 } == version.image)
  }

  @Test(arguments: [0, 7, 17, 39]) func `units that are not written at all`(frame: Int) async throws {
    let home = try await Home()
    let version = try await version(home)
    let error = await #expect(throws: RepositoryError.self) {
      try await restore(home, version.manifest) { $0 == frame * Self.run ? nil : $0 }
    }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("from byte \(frame * Self.run) on") == true)
  }

  @Test(arguments: [0, 7, 17, 38], [-1, 1]) func `units written beside their place`(frame: Int, by: Int) async throws {
    let home = try await Home()
    let version = try await version(home)
    let error = await #expect(throws: RepositoryError.self) {
      try await restore(home, version.manifest) { offset in
        offset == frame * Self.run ? max(0, offset + by * 4096 + (frame == 0 && by < 0 ? 8192 : 0)) : offset
      }
    }
    #expect(error?.code == .damaged)
  }

  @Test func `a bit that falls over on its way into the destination`() async throws {
    let home = try await Home()
    let version = try await version(home)
    let reader = try await VersionReader(version.manifest, repository: home.repository, state: nil)
    let destination = FlippingDestination(MemoryDestination(of: reader), offset: 5 * Self.run)
    let error = await #expect(throws: RepositoryError.self) {
      try await reader.read(member: 0, into: destination, onProgress: { _ in })
    }
    #expect(error?.message.contains("from byte \(5 * Self.run) on") == true)
  }

  @Test func `zeros that do not stand there`() async throws {
    let home = try await Home()
    var image = home.image(pages: 400, seed: 1)
    // More than a block that is read back at once, and not at its borders.
    image.replaceSubrange(50 * 4096..<250 * 4096, with: repeatElement(0, count: 200 * 4096))
    let manifest = try await home.push(image).manifest
    #expect(try await home.read(manifest) == image)
    for page in [50, 130, 249] {
      let reader = try await VersionReader(manifest, repository: home.repository, state: home.state)
      let destination = MemoryDestination(of: reader)
      destination.write([1], at: page * 4096 + 17)
      let error = await #expect(throws: RepositoryError.self) {
        try await reader.read(member: 0, into: destination, onProgress: { _ in })
      }
      #expect(error?.code == .damaged)
    }
  }

  /// The frames of a sound version hold what their directories say. Whoever keeps the key can seal one that does not.
  @Test func `a frame with another content than its directory says is named`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let (said, held) = (home.noise(4096, seed: 1), home.noise(4096, seed: 2))
    try await made.pack([made.raw([home.noise(4096, seed: 3)])])
    let lying = try await made.pack([
      EncodedFrame(
        codec: .raw, type: .page, unitLengths: UnitLengths([4096]), fingerprints: made.fingerprints([said]),
        payload: held)
    ])
    made.place(pack: 1, frame: 0, count: 1)
    made.place(pack: 2, frame: 0, count: 1)
    let manifest = try await made.manifest(image: home.noise(4096, seed: 3) + said)
    let error = await #expect(throws: SealError.self) { _ = try await home.read(manifest) }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains(lying.name.hex.prefix(12)) == true)
  }
}

/// Changes one bit of what is written at an offset.
private struct FlippingDestination: MemberDestination {
  private let base: MemoryDestination
  private let offset: Int

  init(_ base: MemoryDestination, offset: Int) {
    self.base = base
    self.offset = offset
  }

  func write(_ part: ArraySlice<UInt8>, at offset: Int) {
    var part = part
    if offset == self.offset { part[part.startIndex + part.count / 2] ^= 8 }
    base.write(part, at: offset)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) { base.read(into: buffer, at: offset) }
}
