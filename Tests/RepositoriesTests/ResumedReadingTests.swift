import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A member whose beginning stands there from an earlier reading.
@Suite struct ResumedReadingTests {
  private static let cuts = [(8 << 20, 1024), (300_000, 1024), (1, 1)].map {
    RestoreWave.Limits(sealed: $0.0, steps: $0.1)
  }

  private func read(
    _ home: Home, _ manifest: StoredManifest, from store: (any ObjectStore)? = nil,
    limits: RestoreWave.Limits = .init(), into destination: (VersionReader) -> ResumedDestination
  ) async throws -> ResumedDestination {
    let repository = Repository(
      store: store ?? home.store, keys: home.repository.keys, random: home.repository.random,
      slot: home.repository.slot)
    let reader = try await VersionReader(manifest, repository: repository, state: nil)
    let destination = destination(reader)
    try await reader.read(member: 0, limits: limits, into: destination, onProgress: { _ in })
    return destination
  }

  @Test(arguments: cuts.indices, [false, true])
  func `whatever is called complete is in place`(cut: Int, shuffled: Bool) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50, shuffled: shuffled)
    let done = try await read(home, version.manifest, limits: Self.cuts[cut]) {
      ResumedDestination(of: $0, complete: 0, image: version.image)
    }
    #expect(done.content == version.image)
    #expect(done.noted.last == version.image.count)
    #expect(done.noted.sorted() == done.noted)
    // Each frame in its own wave: nothing is called complete at once.
    if cut == 2 { #expect(done.noted.count > 20 && done.noted.first != version.image.count) }
    #expect(!done.isWrong)
  }

  @Test(arguments: [1, 4095, 4096, 100_000, 800_000, 1_638_400], [false, true])
  func `what is complete is not fetched again`(complete: Int, shuffled: Bool) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50, shuffled: shuffled)
    let whole = TallyingStore(home.store)
    _ = try await home.read(version.manifest, from: whole, limits: Self.cuts[1])
    let rest = TallyingStore(home.store)
    let done = try await read(home, version.manifest, from: rest, limits: Self.cuts[1]) {
      ResumedDestination(of: $0, complete: complete, image: version.image)
    }
    #expect(done.content == version.image)
    #expect(!done.isWrong)
    let firstPage = complete / 4096 * 4096
    #expect(done.written.allSatisfy { $0.lowerBound >= firstPage })
    if complete >= version.image.count {
      #expect(done.written.isEmpty)
      #expect(rest.tally.gets == 0)
    } else if !shuffled, complete >= 800_000 {
      #expect(rest.tally.bytesDown < whole.tally.bytesDown * 3 / 4)
    }
  }

  @Test func `pages of zeros at the border`() async throws {
    let home = try await Home()
    var image = home.image(pages: 400, seed: 1)
    image.replaceSubrange(50 * 4096..<250 * 4096, with: repeatElement(0, count: 200 * 4096))
    let manifest = try await home.push(image).manifest
    for complete in [0, 40, 50, 51, 130, 249, 250, 251, 399, 400] {
      let done = try await read(home, manifest) {
        ResumedDestination(of: $0, complete: complete * 4096, image: image)
      }
      #expect(done.content == image)
    }
  }

  @Test(arguments: [0, 5, 60]) func `a beginning that is not the member's is found`(page: Int) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50)
    await #expect(throws: WrongBeginning.self) {
      _ = try await read(home, version.manifest) {
        let destination = ResumedDestination(of: $0, complete: 90 * 4096, image: version.image)
        destination.write([version.image[page * 4096 + 17] ^ 1], at: page * 4096 + 17)
        return destination
      }
    }
  }

  @Test func `a beginning that is less than was said is found`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50)
    await #expect(throws: WrongBeginning.self) {
      _ = try await read(home, version.manifest) {
        let destination = ResumedDestination(of: $0, complete: 90 * 4096, image: version.image)
        destination.write([UInt8](repeating: 0, count: 4096)[...], at: 89 * 4096)
        return destination
      }
    }
  }
}

/// A member in memory that begins with a part of an image, and looks whether what it is told is so.
private final class ResumedDestination: MemberDestination {
  private struct State {
    var written: [Range<Int>] = []
    var noted: [Int] = []
    var isWrong = false
  }

  private let base: MemoryDestination
  private let image: [UInt8]
  private let state = Locked(State())
  let complete: Int

  init(of reader: VersionReader, complete: Int, image: [UInt8]) {
    base = MemoryDestination(of: reader)
    self.image = image
    self.complete = complete
    if complete > 0 { base.write(image[..<min(complete, image.count)], at: 0) }
  }

  var content: [UInt8] { base.content }
  var written: [Range<Int>] { state.withLock { $0.written } }
  var noted: [Int] { state.withLock { $0.noted } }
  /// Something was called complete that was not there.
  var isWrong: Bool { state.withLock { $0.isWrong } }

  func write(_ part: ArraySlice<UInt8>, at offset: Int) {
    base.write(part, at: offset)
    state.withLock { $0.written.append(offset..<offset + part.count) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) { base.read(into: buffer, at: offset) }

  func noteComplete(below offset: Int) {
    let content = base.content
    let isWrong = offset > min(content.count, image.count) || memcmp(content, image, offset) != 0
    state.withLock { state in
      state.noted.append(offset)
      if isWrong { state.isWrong = true }
    }
  }
}
