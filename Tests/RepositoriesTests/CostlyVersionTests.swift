import Storage
import Testing

@testable import Repositories
@testable import Sealing

/// A check tells of versions that cost whoever restores them more than they may, also where their manifests say so.
@Suite struct CostlyVersionTests {
  /// A MiB and a half of pages, spread over 18 frames.
  private static let pages = 384

  @Test func `a version may decode three times its length, and no more`() async throws {
    #expect(try await remarks(pages: Self.pages, frames: 18, sealed: 116) == [])
    #expect(
      try await remarks(pages: Self.pages, frames: 19, sealed: 116)
        == ["restoring it decodes more than three times its length"])
  }

  /// It would take less than a MiB whole, which counts like a MiB.
  @Test func `a version may fetch twice what it would take whole, and no more`() async throws {
    #expect(try await remarks(pages: Self.pages, frames: 18, sealed: (2 << 20) / 18) == [])
    #expect(
      try await remarks(pages: Self.pages, frames: 18, sealed: (2 << 20) / 18 + 1)
        == ["restoring it fetches more than twice what it would take whole"])
  }

  @Test func `a small version may cost anything`() async throws {
    #expect(try await remarks(pages: 16, frames: 16, sealed: 200_000) == [])
  }

  @Test(arguments: [(1, 0), (0, 1), (-1, 0), (0, -1)]) func `what its manifest says must be so to the byte`(
    decoded: Int, fetched: Int
  ) async throws {
    let remarks = try await remarks(pages: 16, frames: 4, sealed: 116, off: (decoded, fetched))
    #expect(
      remarks == [
        "restoring it decodes 1048576 and fetches 464 bytes, not \(1_048_576 + decoded) and \(464 + fetched) as it says"
      ])
  }

  /// What a check says of a version whose pages lie in so many frames of a quarter of a MiB, each of which takes `sealed`
  /// bytes. Only the structure is looked at, so what the frames hold says nothing.
  /// - Parameter off: by how much the manifest's figures are wrong.
  private func remarks(
    pages: Int, frames count: Int, sealed: Int, off: (decoded: Int, fetched: Int) = (0, 0)
  ) async throws -> [String] {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let frames = (0..<count).map { frame in
      EncodedFrame(
        codec: .zstd, type: .page, unitLengths: UnitLengths(uniform: 4096, count: 64),
        fingerprints: (0..<64).map { Fingerprint(high: UInt64(frame), low: UInt64($0)) },
        payload: [UInt8](repeating: 1, count: sealed - 16))
    }
    try await made.pack(frames)
    for frame in 0..<count {
      let (first, end) = (frame * pages / count, (frame + 1) * pages / count)
      made.place(pack: 1, frame: UInt32(frame), count: end - first)
    }
    let manifest = try await made.manifest(
      image: [UInt8](repeating: 1, count: pages * 4096), decoded: UInt64(count << 18 + off.decoded),
      fetched: UInt64(count * sealed + off.fetched))
    let state = try home.state
    let report = try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: nil).run()
    #expect(report.isSound)
    #expect(report.allFindings.allSatisfy { $0.kind == .costly && $0.object == manifest.name.objectName.text })
    return report.allFindings.map(\.what)
  }
}
