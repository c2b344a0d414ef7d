import Glibc
import Sealing
import TestKit
import Testing

@testable import Repositories

/// What `copy` remembers of what it saw at the other target: a line for each, as they were written or not at all.
@Suite struct SeenCopiesTests {
  private func copy(_ place: UInt64, _ text: String = "app") -> SeenCopies.Copy {
    SeenCopies.Copy(
      sequence: place, id: .sha256(of: Array("\(text) \(place)".utf8)), identity: .sha256(of: Array(text.utf8)))
  }

  private func path(_ home: Home) throws -> String { "\(try home.state.path)/\(home.chain.hex)/copies" }

  private func places(_ home: Home) throws -> [UInt64] {
    try SeenCopies(of: home.chain, in: home.state).all.map(\.sequence).sorted()
  }

  private func status(_ path: String) -> stat {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    return status
  }

  /// As one run after the other does it.
  private func see(_ copies: SeenCopies.Copy..., in home: Home, most: Int = 1000) throws {
    var seen = try SeenCopies(of: home.chain, in: home.state, most: most)
    for copy in copies { seen.see(copy) }
    let isWritten = seen.write()
    #expect(isWritten)
  }

  @Test func `what is new costs a line, and what was seen before nothing`() async throws {
    let home = try await Home()
    let path = try path(home)
    #expect(try places(home).isEmpty)
    try see(copy(1), copy(2), in: home)
    let first = status(path)
    #expect(mode(of: path) == 0o600)
    try see(copy(2), copy(1), in: home)
    #expect(status(path).st_size == first.st_size)
    try see(copy(3), in: home)
    let last = status(path)
    #expect(last.st_ino == first.st_ino && 2 * last.st_size == 3 * first.st_size)
    let all = try SeenCopies(of: home.chain, in: home.state).all.sorted { $0.sequence < $1.sequence }
    #expect(all == [copy(1), copy(2), copy(3)])
  }

  @Test func `a line that was cut or spoilt is as lost, and spoils no other`() async throws {
    let home = try await Home()
    let path = try path(home)
    try see(copy(11), copy(12), in: home)
    let whole = try fileBytes(path)
    for length in [whole.count / 2 + 1, whole.count - 20, whole.count - 2] {
      try writeFile(path, Array(whole.prefix(length)))
      #expect(try places(home) == [11])
      try see(copy(13), in: home)
      #expect(try places(home) == [11, 13])
    }
    // Any bit of the second line, the first of which is that of its place.
    for index in stride(from: whole.count / 2, to: whole.count - 1, by: 7) {
      var spoilt = whole
      spoilt[index] ^= 1
      try writeFile(path, spoilt)
      #expect(try places(home) == [11])
    }
  }

  @Test func `what is dropped stays away, and a place holds what was seen there last`() async throws {
    let home = try await Home()
    // Nothing of before is left, which a file that was cut would bring back.
    func lines() throws -> Int { try fileBytes(path(home)).count { $0 == UInt8(ascii: "\n") } }
    try see(copy(1), copy(2), copy(3), in: home)
    try see(copy(3, "other"), in: home)
    #expect(try lines() == 3)
    var seen = try SeenCopies(of: home.chain, in: home.state)
    seen.drop(2)
    let isWritten = seen.write()
    #expect(isWritten)
    #expect(try lines() == 2)
    let all = try SeenCopies(of: home.chain, in: home.state).all.sorted { $0.sequence < $1.sequence }
    #expect(all == [copy(1), copy(3, "other")])
  }

  @Test func `of more than so many those in front go, a quarter at once`() async throws {
    let home = try await Home()
    for place in 1...100 { try see(copy(UInt64(place)), in: home, most: 100) }
    #expect(try places(home) == Array(1...100))
    try see(copy(101), in: home, most: 100)
    #expect(try places(home) == Array(27...101))
    let before = status(try path(home))
    try see(copy(102), in: home, most: 100)
    #expect(status(try path(home)).st_ino == before.st_ino)
    #expect(try places(home) == Array(27...102))
  }

  @Test func `where it cannot be written that is told, and what can be read is not needed`() async throws {
    let home = try await Home()
    try StateFiles.makeFolder(path(home))
    var seen = try SeenCopies(of: home.chain, in: home.state)
    seen.see(copy(1))
    let isWrittenInVain = seen.write()
    #expect(!isWrittenInVain && seen.all == [copy(1)])
    try removeFile(path(home))
    let isWritten = seen.write()
    #expect(isWritten)
    #expect(try places(home) == [1])
  }
}
