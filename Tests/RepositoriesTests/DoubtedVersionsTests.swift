import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// What a drill could not restore is built on by no push, whenever the drill ended.
@Suite struct DoubtedVersionsTests {
  @Test func `what a drill finds while a push is under way counts for the next one`() async throws {
    let home = try await Home()
    let state = try home.state
    var image = home.noise(200 * 4096, seed: 1)
    let first = try await home.push(image)
    image[5] ^= 1
    let second = try await home.push(
      length: image.count,
      read: { [image, chain = home.chain] range in
        var doubted = DoubtedVersions(of: chain, in: state)
        try? doubted.add(first.manifest.id, of: chain, in: state)
        return Array(image[range])
      })
    #expect(second.bytesNew < image.count / 2, "the drill was quicker than the push")
    #expect(!DoubtedVersions(of: home.chain, in: state).isEmpty)
    let third = try await home.push(image)
    #expect(!third.unchanged && third.bytesNew >= image.count)
    #expect(DoubtedVersions(of: home.chain, in: state).isEmpty)
    #expect(try await home.push(image).unchanged)
  }
}
