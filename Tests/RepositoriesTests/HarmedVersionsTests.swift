import Glibc
import Sealing
import TestKit
import Testing

@testable import Repositories

/// What a check found is remembered until it is proved to be whole.
@Suite struct HarmedVersionsTests {
  @Test func `what only reading shows is not taken back by a look at the structure`() async throws {
    let home = try await Home()
    let state = try home.state
    let (one, other) = (Digest.sha256(of: [1]), Digest.sha256(of: [2]))
    func known() throws -> [Bool] {
      let harmed = try HarmedVersions(of: home.chain, in: state)
      return [harmed.contains(one), harmed.contains(other)]
    }
    #expect(try known() == [false, false])
    var harmed = try HarmedVersions(of: home.chain, in: state)
    try harmed.add([one: .init(.structure), other: .init(.content)], of: home.chain, in: state)
    #expect(try known() == [true, true])
    // Another look finds less.
    try harmed.add([other: .init(.structure)], of: home.chain, in: state)
    harmed.remove([one, other], seen: .structure)
    #expect(try known() == [false, true])
    // By another run.
    var again = try HarmedVersions(of: home.chain, in: state)
    again.remove([one, other], seen: .structure)
    #expect(try known() == [false, true])
    again.remove([other])
    #expect(try known() == [false, false])
    #expect(!StateFiles.names(in: "\(state.path)/\(home.chain.hex)").contains("harmed"))
  }

  @Test func `the packs that harm a version are known where they are all that does`() async throws {
    let home = try await Home()
    let state = try home.state
    let version = Digest.sha256(of: [0])
    let packs = (1...17).map { Digest.sha256(of: [UInt8($0)]) }
    func known(after harms: [HarmedVersions.Harm]) throws -> Set<Digest>? {
      var harmed = try HarmedVersions(of: home.chain, in: state)
      harmed.remove([version])
      for harm in harms { try harmed.add([version: harm], of: home.chain, in: state) }
      let again = try HarmedVersions(of: home.chain, in: state)
      #expect(again.packs(harming: version) == harmed.packs(harming: version))
      return again.packs(harming: version)
    }
    #expect(try known(after: [.init(.content, by: [packs[0]])]) == [packs[0]])
    #expect(try known(after: [.init(.content, by: [packs[0]]), .init(.structure)]) == [packs[0]])
    #expect(try known(after: [.init(.structure), .init(.content, by: [packs[0]])]) == [packs[0]])
    #expect(
      try known(after: [.init(.content, by: [packs[0]]), .init(.content, by: [packs[1]])]) == [packs[0], packs[1]])
    // Something else harms it, too, or nobody knows what did.
    #expect(try known(after: [.init(.content), .init(.content, by: [packs[0]])]) == nil)
    #expect(try known(after: [.init(.content, by: [packs[0]]), .init(.content)]) == nil)
    #expect(try known(after: [.init(.content, by: Set(packs))]) == nil)
    #expect(try known(after: [.init(.content, by: Set(packs.dropLast()))])?.count == 16)
  }

  /// A version that nobody has would take the alarm of another one back.
  @Test func `one wrong bit of what is harmed, doubted or damaged is told, and takes nothing back`() async throws {
    let memory = try await Memory()
    let before = try memory.known()
    for name in ["harmed", "doubted", "damaged"] {
      let path = try memory.path(name)
      let good = try fileBytes(path)
      for place in good.indices {
        for change: UInt8 in [1, 2, 4, 0x20, 0x40, 0x80] {
          var bytes = good
          bytes[place] ^= change
          try writeFile(path, bytes)
          let known = try? memory.known()
          #expect(known == nil || known == before, "byte \(place) of \(name)")
        }
      }
      for spoilt in [[], Array("\n".utf8), Array(good.dropLast(5)), Array(good.dropFirst())] as [[UInt8]] {
        try writeFile(path, spoilt)
        let error = #expect(throws: RepositoryError.self) { try memory.known() }
        #expect(error?.code == .stateFolder && error?.hint?.contains("mv '\(path)' '\(path).bad'") == true)
        #expect(error?.hint?.contains("sealift check --read-data") == true)
      }
      try writeFile(path, good)
      #expect(try memory.known() == before)
    }
  }

  @Test func `what an earlier build noted without a hash is read, but for what none has written`() async throws {
    let memory = try await Memory()
    let before = try memory.known()
    for name in ["harmed", "doubted", "damaged"] {
      let path = try memory.path(name)
      let good = try fileBytes(path)
      let lines = String(decoding: good, as: UTF8.self).split(separator: "\n").map { String($0) }
      #expect(lines.last?.hasPrefix("check ") == true)
      let old = lines.dropLast()
      try writeFile(path, Array(old.map { "\($0)\n" }.joined().utf8))
      #expect(try memory.known() == before)
      for line in old.indices {
        var spoilt = Array(old)
        spoilt[line] = "x\(spoilt[line].dropFirst())"
        try writeFile(path, Array(spoilt.map { "\($0)\n" }.joined().utf8))
        let error = #expect(throws: RepositoryError.self) { try memory.known() }
        #expect(error?.code == .stateFolder)
      }
      try writeFile(path, good)
    }
  }

  @Test func `what is harmed and cannot be read is told with a way out`() async throws {
    let memory = try await Memory()
    for name in ["harmed", "doubted", "damaged"] {
      let path = try memory.path(name)
      StateFiles.remove(path)
      try StateFiles.makeFolder("\(path)/in the way")
      let error = #expect(throws: RepositoryError.self) { try memory.known() }
      #expect(error?.code == .stateFolder && error?.hint?.contains("mv '\(path)' '\(path).bad'") == true)
      #expect(rename(path, "\(path).bad") == 0)
      _ = try memory.known()
    }
  }

  /// Some of each kind, as a check and a drill note them.
  private struct Memory {
    let home: Home
    let versions = (1...4).map { Digest.sha256(of: [UInt8($0)]) }
    let here = StorePlace(name: String(repeating: "a", count: 32))

    init() async throws {
      home = try await Home()
      let state = try home.state
      var harmed = try HarmedVersions(of: home.chain, in: state, at: here)
      try harmed.add(
        [versions[0]: .init(.structure), versions[1]: .init(.content, by: [versions[3]])], of: home.chain, in: state)
      var doubted = try DoubtedVersions(of: home.chain, in: state, at: here)
      try doubted.add(versions[0], until: .structure, of: home.chain, in: state)
      try doubted.add(versions[2], of: home.chain, in: state)
      var damaged = try DamagedPacks(of: home.chain, in: state, at: here)
      try damaged.add([versions[3]], of: home.chain, in: state)
      try damaged.raise(12, of: home.chain, in: state)
    }

    func path(_ name: String) throws -> String { try "\(home.state.path)/\(home.chain.hex)/\(name)" }

    /// All that is known of the versions there, and of packs of the same names.
    func known() throws -> [String] {
      let harmed = try HarmedVersions(of: home.chain, in: home.state, at: here)
      let doubted = try DoubtedVersions(of: home.chain, in: home.state, at: here)
      let damaged = try DamagedPacks(of: home.chain, in: home.state, at: here)
      return versions.map { version in
        let packs = harmed.packs(harming: version)?.map(\.hex) ?? []
        return
          "\(harmed.contains(version)) by \(packs), \(doubted.contains(version)), \(damaged.contains(version)) \(damaged.nextNumber)"
      }
    }
  }
}
