import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A keyring never goes back on a machine that has seen a newer one.
@Suite struct KeyringMemoryTests {
  /// Adds a keyring of another epoch as a rotation would, twice.
  private func rotate(_ home: Home, to epoch: UInt32, cuts: [Keyring.Cut] = []) async throws {
    let slot = try #require(home.store.content[home.repository.slot.objectName])
    let master = try KeySlot.open(slot, secret: Home.secret, repository: home.repository.id)
    let old = home.repository.keys.keyring
    let root = SecretKey([UInt8](repeating: UInt8(epoch), count: 32))
    let keyring = Keyring(
      currentEpoch: epoch, roots: epoch == 1 ? old.roots : old.roots.merging([epoch: root]) { first, _ in first },
      chainKey: old.chainKey, fingerprintKey: old.fingerprintKey, hedgeKey: old.hedgeKey, cuts: cuts)
    let sealed = try keyring.seal(master: master, repository: home.repository.id, random: systemRandom)
    let highest = try await home.store.list(prefix: Layout.keyrings).whole(below: Layout.keyrings).map(\.number).max()
    try await RepositoryFiles.putTwice(sealed.bytes, below: Layout.keyrings, after: highest ?? 0, at: home.store)
  }

  private func open(_ home: Home, _ state: StateFolder) async throws {
    try await Repository.open(at: home.store, with: Home.secret).checkKeyring(in: state)
  }

  private func keyrings(_ home: Home) -> [(number: UInt64, name: ObjectName)] {
    home.store.content.keys.compactMap { name in
      NumberedName(name, prefix: Layout.keyrings).map { ($0.number, name) }
    }.sorted { $0.0 < $1.0 }
  }

  @Test func `an older keyring is refused once a newer one was seen`() async throws {
    let home = try await Home()
    let state = try home.state
    try await open(home, state)
    try await rotate(home, to: 2)
    try await open(home, state)
    // The newer of the two copies is lost: that is no way back.
    home.store.content[keyrings(home)[3].name] = nil
    try await open(home, state)
    home.store.content[keyrings(home)[2].name] = nil
    let error = await #expect(throws: RepositoryError.self) { try await open(home, state) }
    #expect(error?.code == .rolledBack)
    home.forgetState()
    try await open(home, home.state)
    Fault.wentBack.met("older keyring")
  }

  @Test func `an old keyring under a higher number is an old keyring`() async throws {
    let home = try await Home()
    let state = try home.state
    let old = try #require(home.store.content[keyrings(home)[0].name])
    try await rotate(home, to: 2)
    try await open(home, state)
    let name = NumberedName(prefix: Layout.keyrings, number: 900, length: old.count, digest: .sha256(of: old))
    home.store.content[name.objectName] = old
    let error = await #expect(throws: RepositoryError.self) { try await open(home, state) }
    #expect(error?.code == .rolledBack)
    Fault.wentBack.met("older keyring")
  }

  @Test func `a keyring that lost a cut is an old keyring`() async throws {
    let home = try await Home()
    let state = try home.state
    let cut = Keyring.Cut(epoch: 1, chain: home.chain, sequence: 3, coreHash: .sha256(of: [3]))
    try await rotate(home, to: 2, cuts: [cut])
    try await open(home, state)
    try await rotate(home, to: 2)
    let error = await #expect(throws: RepositoryError.self) { try await open(home, state) }
    #expect(error?.code == .rolledBack)
    Fault.wentBack.met("older keyring")
  }

  @Test(arguments: 0..<4) func `a repair stores no older keyring in the newest one's place`(lost: Int) async throws {
    let home = try await Home()
    try await rotate(home, to: 2)
    home.store.content[keyrings(home)[lost].name] = nil
    let opened = try await Repository.open(at: home.store, with: Home.secret)
    #expect(try await opened.repairOpening().count == (lost < 2 ? 0 : 1))
    #expect(try await opened.repairOpening().isEmpty)
    let again = try await Repository.open(at: home.store, with: Home.secret)
    #expect(again.keys.keyring.currentEpoch == 2)
  }

  /// Two machines that rotate at once: all that read the repository agree on one of both.
  @Test func `of two keyrings of one number the greater name counts`() async throws {
    let home = try await Home()
    try await rotate(home, to: 2)
    let made = keyrings(home).suffix(2).map(\.name)
    let bytes = try made.map { try #require(home.store.content[$0]) }
    for name in made { home.store.content[name] = nil }
    try await rotate(home, to: 3)
    for (name, bytes) in zip(made, bytes) { home.store.content[name] = bytes }
    let last = try #require(keyrings(home).last).number
    let greatest = try #require(keyrings(home).filter { $0.number == last }.map(\.name.text).max())
    let expected: UInt32 = made.contains { $0.text == greatest } ? 2 : 3
    for isReversed in [false, true] {
      let store = StagedStore(home.store) {
        $0.listed = { _, listed async throws(StoreError) in isReversed ? listed.reversed() : listed }
      }
      let opened = try await Repository.open(at: store, with: Home.secret)
      #expect(opened.keys.keyring.currentEpoch == expected)
    }
  }

  /// An older one in its place would bring back what was retired. What is wrong: its version, its current epoch, a byte
  /// behind its end.
  @Test(arguments: [(0, .unsupported), (4, .damaged), (nil, .damaged)] as [(Int?, RepositoryError.Code)])
  func `a keyring that a newer program wrote, or one that makes mistakes, is not passed over`(
    place: Int?, code: RepositoryError.Code
  ) async throws {
    let home = try await Home()
    let slot = try #require(home.store.content[home.repository.slot.objectName])
    let master = try KeySlot.open(slot, secret: Home.secret, repository: home.repository.id)
    var meta = home.repository.keys.keyring.encode()
    if let place { meta[place] += 1 } else { meta.append(0) }
    let key = hkdf(master.bytes, salt: home.repository.id.bytes, info: Array("sealift keyring".utf8), count: 32)
    let sealed = try ObjectBuilder(kind: .keyring, keys: home.repository.keys, random: systemRandom)
      .finish(meta: meta, epoch: 0, kindKey: key)
    try await RepositoryFiles.putTwice(sealed.bytes, below: Layout.keyrings, after: 2, at: home.store)
    let error = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: home.store, with: Home.secret)
    }
    #expect(error?.code == code)
  }

  @Test func `a memory that may be there and cannot be read is no fresh start`() async throws {
    let home = try await Home()
    let state = try home.state
    try StateFiles.makeFolder("\(KeyringMemory.path(state))/in the way")
    let error = await #expect(throws: RepositoryError.self) { try await open(home, state) }
    #expect(error?.code == .stateFolder)
  }

  @Test func `a memory that is spoilt counts as none`() async throws {
    let home = try await Home()
    let state = try home.state
    for bytes in [[], Array("{".utf8), Array(#"{"number": -1}"#.utf8)] {
      try StateFiles.write(bytes, to: KeyringMemory.path(state))
      try await open(home, state)
      #expect(try KeyringMemory(in: state)?.number == 2)
    }
  }
}
