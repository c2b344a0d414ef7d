import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a push notes of its packs: one line for each, and what became of a line that was cut.
@Suite struct PushJournalTests {
  private func entry(_ number: Int) -> PackEntry {
    PackEntry(
      number: UInt32(number), name: .sha256(of: Array("\(number)".utf8)), length: 8_388_608, directoryLength: 65_536,
      version: UInt8(ObjectFormat.version), aead: 1, kem: 0, epoch: 1, salt: [UInt8](repeating: 5, count: 32))
  }

  private func path(_ home: Home) throws -> String { "\(try home.state.path)/\(home.chain.hex)/journal" }

  private func status(_ path: String) -> stat {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    return status
  }

  private func entries(_ home: Home) throws -> [PackEntry] { try PushJournal(home.chain, in: home.state).entries }

  @Test func `what a journal costs grows with the push, not with its square`() async throws {
    let home = try await Home()
    let path = try path(home)
    let journal = try PushJournal(home.chain, in: home.state)
    try journal.add(entry(1))
    let first = status(path)
    for number in 2...2000 { try journal.add(entry(number)) }
    let last = status(path)
    #expect(last.st_ino == first.st_ino && last.st_size == 2000 * first.st_size)
    #expect(last.st_size <= 2000 * 200)
    #expect(mode(of: path) == 0o600)
    #expect(try entries(home) == (1...2000).map { entry($0) })
    journal.clear()
    #expect(access(path, F_OK) != 0)
    #expect(try entries(home) == [])
    try journal.add(entry(7))
    #expect(try entries(home) == [entry(7)])
  }

  @Test func `a line that was cut spoils no other, wherever it was cut`() async throws {
    let home = try await Home()
    let path = try path(home)
    let whole = 2 * PackEntry.length + 1
    for cut in [1, 2, 3, 84, 100, whole - 2, whole - 1] {
      let journal = try PushJournal(home.chain, in: home.state)
      for number in 1...3 { try journal.add(entry(number)) }
      #expect(truncate(path, off_t(3 * whole - cut)) == 0)
      // Only its end is missing: all that it says is there.
      let known = cut == 1 ? [1, 2, 3] : [1, 2]
      #expect(try entries(home) == known.map { entry($0) }, "\(cut)")
      let resumed = try PushJournal(home.chain, in: home.state)
      #expect(resumed.entries == known.map { entry($0) }, "\(cut)")
      for number in 4...5 { try resumed.add(entry(number)) }
      #expect(try entries(home) == (known + [4, 5]).map { entry($0) }, "\(cut)")
      resumed.clear()
    }
  }

  @Test func `what is no entry is passed over, whatever its length`() async throws {
    let home = try await Home()
    let path = try path(home)
    let journal = try PushJournal(home.chain, in: home.state)
    let junk: [[UInt8]] = [
      [10, 10], Array("no entry\n".utf8), [UInt8](repeating: 0, count: 100),
      [UInt8](repeating: UInt8(ascii: "a"), count: 600_000) + [10], [0xff, 0xfe, 10],
      Array((Hex.encode(entry(9).encode()) + "00\n").utf8), [UInt8](repeating: UInt8(ascii: "0"), count: 168),
    ]
    for (number, bytes) in junk.enumerated() {
      try journal.add(entry(number + 1))
      let descriptor = open(path, O_WRONLY | O_APPEND)
      #expect(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
      close(descriptor)
    }
    #expect(try entries(home) == (1...junk.count).map { entry($0) })
  }

  /// A push of a terabyte goes on.
  @Test func `a journal of any length is read`() async throws {
    let home = try await Home()
    let path = try path(home)
    let journal = try PushJournal(home.chain, in: home.state)
    try journal.add(entry(1))
    #expect(truncate(path, 65 << 20) == 0)
    try journal.add(entry(2))
    #expect(try entries(home) == [entry(1), entry(2)])
  }

  @Test func `a link in its place is not followed`() async throws {
    let home = try await Home()
    let path = try path(home)
    let journal = try PushJournal(home.chain, in: home.state)
    let other = "\(home.stateFolder)/other"
    try StateFiles.write([1], to: other)
    #expect(symlink(other, path) == 0)
    let added = #expect(throws: RepositoryError.self) { try journal.add(entry(1)) }
    #expect(added?.code == .stateFolder && added?.hint != nil)
    let read = #expect(throws: RepositoryError.self) { try PushJournal(home.chain, in: home.state) }
    #expect(read?.code == .stateFolder)
    #expect(try StateFiles.read(other) == [1])
  }

  @Test func `a push goes on from a journal whose last line was cut`() async throws {
    let home = try await Home()
    let path = try path(home)
    // Three packs.
    let image = home.noise(5000 * 4096, seed: 19)
    for stored in 1...2 {
      let cut = CutStore(home.store, puts: 1)
      await #expect(throws: StoreError.self) { _ = try await home.push(image, at: cut) }
      let noted = try entries(home).map(\.name)
      #expect(noted.count == stored && Set(noted) == Set(home.packs()))
      let descriptor = open(path, O_WRONLY | O_APPEND)
      let half = Array(Hex.encode(entry(8).encode()).utf8.prefix(90))
      #expect(half.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == half.count)
      close(descriptor)
    }
    let sent = Set(home.packs())
    let result = try await home.push(image)
    #expect(home.packs().count == 3 && sent.isSubset(of: home.packs()))
    #expect(try await home.read(result.manifest) == image)
    #expect(access(path, F_OK) != 0)
  }
}
