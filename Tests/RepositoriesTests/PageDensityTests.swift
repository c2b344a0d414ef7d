import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// How much a first push of an image would store is told by its own pages where frames of older content would mislead.
@Suite struct PageDensityTests {
  /// Pages of 4 KiB, of which every third is noise, and the others nearly nothing.
  private static let pages: [[UInt8]] = {
    var random = SeededRandom(1)
    return (0..<2048).map { page in
      page % 3 == 0 ? random.bytes(4096) : Array(String(repeating: "row \(page);", count: 1024).utf8.prefix(4096))
    }
  }()

  enum Deletion: CaseIterable {
    case ofNoise
    case ofAnything
  }

  /// A third is deleted either way. What is left needs all that was stored, which is as much as ever if it is like what is
  /// gone, and many times what it would take by itself if that was all the noise.
  @Test(arguments: Deletion.allCases)
  func `a version that holds little may need as much less`(deletion: Deletion) async throws {
    let home = try await Home()
    let first = Self.pages.flatMap { $0 }
    _ = try await home.push(first, deltas: DeltaPlan(level: .anchor))
    let left = Self.pages.enumerated().filter { page, _ in
      switch deletion {
      case .ofNoise: page % 3 != 0
      case .ofAnything: page % 9 > 2
      }
    }.flatMap(\.element)
    let second = try await home.push(left, deltas: DeltaPlan(level: .middle))
    #expect(second.level == (deletion == .ofNoise ? .fresh : .middle))
    #expect(try await home.read(second.manifest) == left)
  }

  /// Half of each frame is needed, on whatever it rests: each level would read the image again, for nothing.
  @Test func `a version that is too dear on any base refers to nothing at once`() async throws {
    let home = try await Home()
    let first = home.noise(1280 * 4096, seed: 1)
    _ = try await home.push(first)
    let left = stride(from: 0, to: 1280, by: 2).flatMap { first[$0 * 4096..<($0 + 1) * 4096] }
    let read = Locked(0)
    let second = try await home.push(
      length: left.count,
      read: { range in
        read.withLock { $0 += range.count }
        return Array(left[range])
      })
    #expect(second.level == .fresh)
    // The leaf, a look at its pages, and what was stored.
    #expect(read.withLock { $0 } <= 3 * left.count)
    #expect(try await home.read(second.manifest) == left)
  }

  /// Only of its image too little is there.
  @Test func `a version that is too dear on any base finds its companions again`() async throws {
    let home = try await Home()
    let first = home.noise(1280 * 4096, seed: 1)
    let file = StillFile(home.noise(1 << 20, seed: 2))
    let companion = CompanionSource(path: "file", mode: 0o600, modified: 1, content: .file { file })
    func push(_ image: [UInt8]) async throws -> PushSession.Result {
      try await home.push(length: image.count, companions: [companion], read: { Array(image[$0]) })
    }
    _ = try await push(first)
    let left = stride(from: 0, to: 1280, by: 8).flatMap { first[$0 * 4096..<($0 + 1) * 4096] }
    let image = left + home.noise(240 * 4096, seed: 3)
    let second = try await push(image)
    #expect(second.level == .anchor)
    #expect(second.bytesNew < image.count + (64 << 10))
    #expect(try await home.read(second.manifest) == image)
  }

  @Test func `a look tells what whole frames of all pages take`() async throws {
    let image = Self.pages.flatMap { $0 }
    let encoder = FrameEncoder(level: 1)
    let length = 64 * 4096
    var all = 0
    for start in stride(from: 0, to: image.count, by: length) {
      all += try image[start..<start + length].withUnsafeBytes {
        try encoder.wholeLength(type: .page, units: $0, unitLengths: Array(repeating: 4096, count: 64))
      }
    }
    let density = try #require(try await density(of: image))
    let told = density * Double(image.count)
    #expect(abs(told - Double(all)) < Double(all) / 20)
  }

  @Test func `pages of zeros are no content`() async throws {
    let zeros = [UInt8](repeating: 0, count: 4096)
    let image = Self.pages.flatMap { $0 + zeros }
    let (some, none) = (try await density(of: image), try await density(of: zeros))
    #expect(try #require(some) > 0.3)
    #expect(none == nil)
  }

  @Test(arguments: [512, 4096, 65_536], [0, 1, 3, 64, 5000, 40_000, 3_000_000])
  func `windows lie evenly, each as long as a frame, and cover what is small`(unitSize: Int, units: Int) throws {
    let windows = PageDensity.windows(over: units * unitSize, unitSize: unitSize)
    let covered = windows.reduce(0) { $0 + $1.count }
    #expect(covered == units * unitSize || windows.count >= 32)
    #expect(windows.count <= 128)
    #expect(windows.allSatisfy { $0.lowerBound % unitSize == 0 && $0.count <= Limits.framePlaintext })
    #expect(zip(windows, windows.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
    guard units > 0 else { return }
    #expect(windows.first?.lowerBound == 0 && windows.last?.upperBound == units * unitSize)
  }

  private func density(of image: [UInt8]) async throws -> Double? {
    let source = MemberSource(
      content: .image(pageSize: 4096), path: "app.db", mode: 0o600, modified: 0, length: image.count,
      read: { Array(image[$0]) })
    return try await PageDensity.look(at: source, length: image.count, WorkerPool { FrameEncoder(level: 1) }).value
  }
}
