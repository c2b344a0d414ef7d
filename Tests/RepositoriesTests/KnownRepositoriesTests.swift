import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A place shows the repository that this machine has used there, or says so.
@Suite struct KnownRepositoriesTests {
  private let scratch: Scratch
  private var state: String { scratch.path }

  init() throws { scratch = try Scratch() }

  /// A repository at a place that others may be put in place of.
  private func home(_ identity: String = "one place") async throws -> Home {
    try await Home(at: MemoryStore(identity: identity))
  }

  private func see(_ home: Home) throws {
    let mark = HighWaterMark(sequence: 1, id: .sha256(of: [1]))
    try mark.write(home.chain, in: StateFolder(state, repository: home.repository.id))
  }

  @Test func `another repository where one was used is refused`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    try see(first)
    let error = #expect(throws: RepositoryError.self) { try second.repository.checkPlace(in: state) }
    #expect(error?.code == .rolledBack)
    try first.repository.checkPlace(in: state)
    // Somewhere else it is welcome.
    try await home("another place").repository.checkPlace(in: state)
    Fault.wentBack.met("another repository")
  }

  @Test func `what the hint says makes it welcome, and the first one stays so`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    try see(first)
    let error = #expect(throws: RepositoryError.self) { try second.repository.checkPlace(in: state) }
    let hint = try #require(error?.hint)
    let echo = try #require(hint.firstRange(of: "echo ").map { hint[$0.upperBound...].split(separator: " ") })
    let path = String(try #require(echo.last).dropFirst().dropLast())
    let held = try #require(try StateFiles.read(path))
    try StateFiles.write(held + Array("\(echo[0])\n".utf8), to: path)
    try second.repository.checkPlace(in: state)
    try see(second)
    try first.repository.checkPlace(in: state)
  }

  @Test func `of two that were made at once, and hold nothing yet, either may stay`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state, isMade: true)
    try second.repository.checkPlace(in: state)
    try see(second)
    try second.repository.checkPlace(in: state)
  }

  @Test func `what cannot be read is not taken for nothing, nor written over`() async throws {
    let home = try await home()
    try home.repository.checkPlace(in: state)
    let path = try KnownRepositories(at: home.store, in: state).path
    StateFiles.remove(path)
    try StateFiles.makeFolder("\(path)/in the way")
    for isMade in [false, true] {
      let error = #expect(throws: RepositoryError.self) { try home.repository.checkPlace(in: state, isMade: isMade) }
      #expect(error?.code == .stateFolder)
    }
    #expect(StateFiles.names(in: path) == ["in the way"])
  }

  /// One whose line is spoilt would never have been met.
  @Test func `what is spoilt is told once, and lets no other repository in`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    try see(first)
    let path = try KnownRepositories(at: first.store, in: state).path
    let good = try #require(try StateFiles.read(path))
    var spoilt: [[UInt8]] = [[], Array(good.prefix(20))]
    for place in good.indices {
      for change: UInt8 in [1, 2, 4, 0x20, 0x80] {
        var bytes = good
        bytes[place] ^= change
        spoilt.append(bytes)
      }
    }
    for bytes in spoilt {
      try StateFiles.write(bytes, to: path)
      let error = #expect(throws: RepositoryError.self) { try second.repository.checkPlace(in: state) }
      #expect(error?.code == .rolledBack || error?.code == .stateFolder)
      #expect(error?.hint?.contains("'\(path)'") == true)
      #expect(try StateFiles.read(path) == bytes)
      let madeAnew = SpoiltPlace(path: path, isMadeAnew: true)
      #expect(try first.repository.checkPlace(in: state) == madeAnew, "\(bytes)")
      #expect(try StateFiles.read("\(path).bad") == bytes)
      #expect(try first.repository.checkPlace(in: state) == nil)
    }
    // What the hint says makes it welcome.
    try StateFiles.write(Array("junk\n".utf8), to: path)
    #expect(throws: RepositoryError.self) { try second.repository.checkPlace(in: state) }
    StateFiles.remove(path)
    #expect(try second.repository.checkPlace(in: state) == nil)
  }

  /// The other one is used somewhere, and stands here for now.
  @Test func `who only reads leaves what is spoilt, so that the right one is not locked out`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    for home in [first, second] { try see(home) }
    let path = try KnownRepositories(at: first.store, in: state).path
    let junk = Array("junk\n".utf8)
    try StateFiles.write(junk, to: path)
    let left = SpoiltPlace(path: path, isMadeAnew: false)
    for home in [second, second, first] {
      #expect(try home.repository.checkPlace(in: state, isReading: true) == left)
      #expect(try StateFiles.read(path) == junk)
    }
    #expect(try first.repository.checkPlace(in: state) == SpoiltPlace(path: path, isMadeAnew: true))
    let error = #expect(throws: RepositoryError.self) { try second.repository.checkPlace(in: state, isReading: true) }
    #expect(error?.code == .rolledBack)
  }

  @Test func `what cannot be kept is not written over, and not said to be made anew`() async throws {
    let home = try await home()
    try home.repository.checkPlace(in: state)
    let path = try KnownRepositories(at: home.store, in: state).path
    let junk = Array("junk\n".utf8)
    try StateFiles.write(junk, to: path)
    try StateFiles.makeFolder("\(path).bad")
    #expect(try home.repository.checkPlace(in: state) == SpoiltPlace(path: path, isMadeAnew: false))
    #expect(try StateFiles.read(path) == junk)
  }

  @Test func `of another place it says nothing, and of earlier builds it is made whole`() async throws {
    let (first, second, other) = (try await home(), try await home(), try await home("another place"))
    try first.repository.checkPlace(in: state)
    try see(first)
    let path = try KnownRepositories(at: first.store, in: state).path
    let good = try #require(try StateFiles.read(path))
    try StateFiles.write(Array("\(first.repository.id.hex)\n".utf8), to: path)
    #expect(try first.repository.checkPlace(in: state) == nil)
    #expect(try StateFiles.read(path) == good)
    try StateFiles.write(good, to: try KnownRepositories(at: other.store, in: state).path)
    let error = #expect(throws: RepositoryError.self) { try other.repository.checkPlace(in: state) }
    #expect(error?.code == .rolledBack)
    #expect(try KnownRepositories(at: other.store, in: state).isSpoilt)
    // Where nothing was used, nothing is in doubt.
    let empty = scratch.file("empty")
    try StateFiles.makeFolder("\(empty)/places")
    try StateFiles.write([1], to: try KnownRepositories(at: second.store, in: empty).path)
    #expect(try second.repository.checkPlace(in: empty)?.isMadeAnew == true)
  }

  /// What is noted of a repository makes it one that was used.
  @Test func `where the place is not proved, nothing may be noted of a repository that was not used`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    let path = try KnownRepositories(at: first.store, in: state).path
    #expect(first.repository.provesPlace(in: state))
    try StateFiles.write(Array("junk\n".utf8), to: path)
    #expect(!first.repository.provesPlace(in: state))
    try see(first)
    #expect(first.repository.provesPlace(in: state) && !second.repository.provesPlace(in: state))
    StateFiles.remove(path)
    try StateFiles.makeFolder("\(path)/in the way")
    #expect(first.repository.provesPlace(in: state) && !second.repository.provesPlace(in: state))
    #expect(try await home("another place").repository.provesPlace(in: state))
  }

  @Test func `one that is made anew takes the place`() async throws {
    let (first, second) = (try await home(), try await home())
    try first.repository.checkPlace(in: state)
    try see(first)
    try second.repository.checkPlace(in: state, isMade: true)
    try second.repository.checkPlace(in: state)
  }
}
