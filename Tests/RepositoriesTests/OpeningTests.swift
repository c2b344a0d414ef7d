import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Opening a repository when slots are damaged, several repositories lie there, or the line is bad.
@Suite struct OpeningTests {
  @Test func `a bad line while two repositories are told apart is not taken for an answer`() async throws {
    let homes = try await [Home(), Home()].sorted { $0.repository.id.hex < $1.repository.id.hex }
    // The one that would win if no version were seen is the empty one.
    _ = try await homes[1].push(homes[1].image(pages: 3, seed: 1))
    let store = MemoryStore()
    store.content = homes[0].store.content.merging(homes[1].store.content) { first, _ in first }
    #expect(try await Repository.open(at: store, with: Home.secret).id == homes[1].repository.id)
    let bad = HookedStore(
      store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { throw StoreError(.unavailable, "the connection was cut") }
      })
    await #expect(throws: StoreError.self) { try await Repository.open(at: bad, with: Home.secret) }
  }

  @Test func `the file of another repository does not hide one whose file was lost`() async throws {
    let (lost, other) = (try await Home(), try await Home(secret: .keyFile([UInt8](repeating: 77, count: 32))))
    _ = try await lost.push(lost.image(pages: 3, seed: 1))
    let store = MemoryStore()
    store.content = lost.store.content.filter { !$0.key.text.hasPrefix("repo/") }
      .merging(other.store.content) { first, _ in first }
    let opened = try await Repository.open(at: store, with: Home.secret)
    #expect(opened.id == lost.repository.id)
    #expect(opened.lacksFile)
  }

  /// All but the file, which comes last.
  @Test func `what an init left that was interrupted is no repository, whatever opens it`() async throws {
    let key = SlotSecret.keyFile([UInt8](repeating: 77, count: 32))
    let (home, left) = (try await Home(), try await Home(secret: key))
    _ = try await home.push(home.image(pages: 3, seed: 1))
    let file = try #require(home.store.content.first { $0.key.text.hasPrefix("repo/") })
    let rest = left.store.content.filter { !$0.key.text.hasPrefix("repo/") }
    let store = MemoryStore()
    store.content = home.store.content.merging(rest) { first, _ in first }
    for isLost in [true, false] {
      store.content[file.key] = isLost ? nil : file.value
      for lackingFile in [true, false] {
        let error = await #expect(throws: RepositoryError.self) {
          try await Repository.open(at: store, with: key, lackingFile: lackingFile)
        }
        #expect(error?.code == .wrongKey)
        let opened = try await Repository.open(at: store, with: Home.secret, lackingFile: lackingFile)
        #expect(opened.id == home.repository.id)
      }
    }
    // To the repository that is meant it is nothing, and no damage.
    let slot = try #require(rest.keys.first { $0.text.hasPrefix("keys/1-") })
    let repository = try await Repository.open(at: store, with: Home.secret)
    for name in rest.keys where name.text.hasPrefix(Layout.slots) {
      store.content[name]?[60] ^= 1
      #expect(try await KeySlots(of: repository).list().map(\.name.digest) == [repository.slot.digest])
      store.content[name]?[60] ^= 1
    }
    store.content[slot] = nil
    let state = try home.state
    let report = try await RepositoryCheck(repository, state: state, tables: state.path, subset: nil).run()
    #expect(report.findings.isEmpty)
    #expect(try await repository.repairOpening().isEmpty)
    // With a version of its own it is one, damaged or not.
    let own = try await left.push(left.image(pages: 3, seed: 2)).manifest.name.objectName
    let whole = try #require(left.store.content[own])
    for isLost in [true, false] {
      store.content[file.key] = isLost ? nil : file.value
      for place in [200, nil] as [Int?] {
        store.content[own] = whole
        if let place { store.content[own]?[place] ^= 1 }
        #expect(try await Repository.open(at: store, with: key).id == left.repository.id)
      }
    }
  }

  /// - Parameter left: how many objects: where the file may be there, nothing goes.
  @Test(arguments: [(1, 0), (4, 0), (6, 0), (7, 6)])
  func `an init that is interrupted takes away what it has stored`(step: Int, left: Int) async throws {
    let base = MemoryStore()
    let puts = Locked(0)
    let store = HookedStore(
      base,
      beforePut: { _ async throws(StoreError) in
        let count = puts.withLock {
          $0 += 1
          return $0
        }
        guard count == step else { return }
        withUnsafeCurrentTask { (task: UnsafeCurrentTask?) -> Void in task?.cancel() }
        throw StoreError(.cancelled, "interrupted")
      },
      beforeDelete: { _ async throws(StoreError) in
        if Task.isCancelled { throw StoreError(.cancelled, "interrupted") }
      })
    let made = Task { try await RepositoryFiles.create(at: store, with: Home.secret, cost: .least, now: 1) }
    await #expect(throws: StoreError.self) { try await made.value }
    #expect(puts.withLock { $0 } == step && base.content.count == left)
  }

  /// Anybody may add objects who has no key.
  @Test func `a file that is no repository's locks nobody out`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 3, seed: 1))
    let genuine = try #require(home.store.content.first { $0.key.text.hasPrefix("repo/") })
    for bytes in [home.noise(64, seed: 5), genuine.value] {
      for hidden in [false, true] {
        let store = MemoryStore()
        store.content = home.store.content
        let id = try #require(RepositoryID([UInt8](repeating: 0, count: 16)))
        let planted = RepositoryFileName(repository: id, length: bytes.count, digest: .sha256(of: bytes))
        store.content[planted.objectName] = bytes
        if hidden { store.content[genuine.key] = nil }
        #expect(try await Repository.open(at: store, with: Home.secret).id == home.repository.id)
        await #expect(throws: RepositoryError.self) {
          try await RepositoryFiles.create(at: store, with: Home.secret, cost: .least, now: 1)
        }
        // Where nothing else is, it may be of a program to come.
        store.content = [planted.objectName: bytes]
        let error = await #expect(throws: RepositoryError.self) {
          try await Repository.open(at: store, with: Home.secret)
        }
        #expect(error?.code == .unsupported)
      }
    }
  }

  @Test func `a configuration of tomorrow is told from one against the rules`() async throws {
    let home = try await Home()
    let known = RepositoryConfiguration(createdAt: 1).encode()
    let cases: [([UInt8], RepositoryError.Code)] = [
      ([1] + known.dropFirst(), .unsupported), (known + [0], .damaged),
    ]
    for (meta, code) in cases {
      let sealed = try ObjectBuilder(kind: .configuration, keys: home.repository.keys, random: systemRandom)
        .finish(meta: meta)
      let store = MemoryStore()
      store.content = home.store.content
      try await RepositoryFiles.putTwice(sealed.bytes, below: Layout.configurations, after: 2, at: store)
      let error = await #expect(throws: RepositoryError.self) {
        try await Repository.open(at: store, with: Home.secret)
      }
      #expect(error?.code == code)
    }
  }

  /// A directory sealed with the right key.
  /// - Parameter gap: bytes before it, which anybody can add who has no key.
  private func sealed(_ directory: [UInt8], _ kind: ObjectKind, in home: Home, gap: Int = 0) throws -> [UInt8] {
    let keys = home.repository.keys
    let slot = try #require(home.store.content[home.repository.slot.objectName])
    let master = try KeySlot.open(slot, secret: Home.secret, repository: keys.repository)
    let isKeyring = kind == .keyring
    let epoch = isKeyring ? 0 : keys.keyring.currentEpoch
    let kindKey =
      try isKeyring
      ? hkdf(master.bytes, salt: keys.repository.bytes, info: Array("sealift keyring".utf8), count: 32)
      : keys.kindKey(kind, epoch: epoch)
    let header = Header(kind: kind, epoch: epoch, repository: keys.repository, salt: home.noise(32, seed: 1))
    let objectKeys = ObjectKeys(header: header, kindKey: kindKey)
    var bytes = header.encodedForKeys + objectKeys.commitment + [UInt8](repeating: 0, count: gap)
    try objectKeys.cipher().seal(
      directory, nonce: objectKeys.nonce(ObjectKeys.directoryIndex, final: true),
      additional: ObjectKeys.directoryAdditionalData(plaintextLength: directory.count), into: &bytes)
    var end = ByteWriter()
    end.write(UInt32(directory.count + AuthenticatedCipher.tagLength))
    return bytes + end.bytes
  }

  @Test(arguments: [ObjectKind.keyring, .configuration])
  func `a directory of tomorrow, or one against the rules, is not passed over`(kind: ObjectKind) async throws {
    let home = try await Home()
    let isKeyring = kind == .keyring
    let prefix = isKeyring ? Layout.keyrings : Layout.configurations
    let meta = isKeyring ? home.repository.keys.keyring.encode() : RepositoryConfiguration(createdAt: 1).encode()
    let known = Directory.encode(basePacks: [], frames: [], meta: meta) + [UInt8](repeating: 0, count: 4096)
    var (tomorrow, wrong) = (known, known)
    tomorrow[0] = 1
    wrong[wrong.count - 1] = 1
    let cases: [([UInt8], Int, RepositoryError.Code?)] = [
      (known, 0, nil), (tomorrow, 0, .unsupported), (wrong, 0, .damaged), (known, 1, nil),
    ]
    for (directory, gap, code) in cases {
      let bytes = try sealed(directory, kind, in: home, gap: gap)
      let name = NumberedName(prefix: prefix, number: 9, length: bytes.count, digest: .sha256(of: bytes))
      let store = MemoryStore()
      store.content = home.store.content
      store.content[name.objectName] = bytes
      guard let code else {
        #expect(try await Repository.open(at: store, with: Home.secret).id == home.repository.id)
        continue
      }
      let error = await #expect(throws: RepositoryError.self) {
        try await Repository.open(at: store, with: Home.secret)
      }
      #expect(error?.code == code)
    }
  }

  @Test func `a key that another machine's repair stores again meanwhile is removed all the same`() async throws {
    let home = try await Home()
    let key = SlotSecret.keyFile([UInt8](repeating: 5, count: 32))
    let entry = try await KeySlots(of: home.repository).add(key, current: Home.secret, cost: .least, now: 1)
    let bytes = try #require(home.store.content[entry.name.objectName])
    let store = ReturningStore(home.store, entry.name.digest, bytes)
    let repository = try await Repository.open(at: store, with: Home.secret)
    _ = try await KeySlots(of: repository).remove(entry.id, force: false)
    #expect(store.hasReturned.withLock { $0 })
    #expect(!home.store.content.keys.contains { $0.text.hasSuffix(entry.name.digest.hex) })
    await #expect(throws: RepositoryError.self) { try await Repository.open(at: home.store, with: key) }
  }

  /// Another machine removes it to the end before the first or the second copy arrives, and says so.
  @Test(arguments: [1, 2])
  func `a key that is removed while a repair stores it again is not there afterwards`(put: Int) async throws {
    let home = try await Home()
    let key = SlotSecret.keyFile([UInt8](repeating: 5, count: 32))
    let entry = try await KeySlots(of: home.repository).add(key, current: Home.secret, cost: .least, now: 1)
    home.store.content[entry.name.objectName] = nil
    let puts = Locked(0)
    let removed = Locked<[String]>([])
    let store = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        let number = puts.withLock { count in
          count += name.text.hasPrefix(Layout.slots) ? 1 : 0
          return count
        }
        guard name.text.hasPrefix(Layout.slots), number == put else { return }
        let gone = try? await KeySlots(of: home.repository).remove(entry.id, force: false)
        removed.withLock { $0 += gone.map { [$0.id] } ?? [] }
      })
    let repository = try await Repository.open(at: store, with: Home.secret)
    var told: [String] = []
    let written = try await repository.repairOpening { told.append($0) }
    #expect(removed.withLock { $0 } == [entry.id] && puts.withLock { $0 } == 2)
    #expect(told == [entry.id] && written.isEmpty)
    #expect(!home.store.content.keys.contains { $0.text.hasSuffix(entry.name.digest.hex) })
    await #expect(throws: RepositoryError.self) { try await Repository.open(at: home.store, with: key) }
    #expect(try await KeySlots(of: home.repository).list().count == 1)
  }

  /// Once both copies of a slot are gone, it is there again.
  private final class ReturningStore: ObjectStore {
    let base: MemoryStore
    let slot: Digest
    let bytes: [UInt8]
    let hasReturned = Locked(false)
    var traits: StoreTraits { base.traits }

    init(_ base: MemoryStore, _ slot: Digest, _ bytes: [UInt8]) {
      (self.base, self.slot, self.bytes) = (base, slot, bytes)
    }

    func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
    func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
    func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
      try await base.get(name, range: range)
    }
    func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
    func delete(_ name: ObjectName) async throws(StoreError) {
      try await base.delete(name)
      let isThere = base.content.keys.contains { $0.text.hasSuffix(slot.hex) }
      guard !isThere, !hasReturned.withLock({ $0 }) else { return }
      hasReturned.withLock { $0 = true }
      let again = NumberedName(prefix: Layout.slots, number: 70, length: bytes.count, digest: slot)
      base.content[again.objectName] = bytes
    }
  }

  @Test func `a slot that asks for more work than others is tried last`() async throws {
    let secret = SlotSecret.passphrase(Array("correct horse".utf8))
    let home = try await Home(secret: secret)
    // Only the order tells them apart: this one opens too, to nothing.
    let dear = try KeySlot.seal(
      master: MasterKey([UInt8](repeating: 1, count: 32)), secret: secret,
      repository: home.repository.id, cost: SlotCost(logN: 16, r: 8, p: 2), createdAt: 1, random: systemRandom)
    let name = NumberedName(prefix: Layout.slots, number: 900, length: dear.count, digest: .sha256(of: dear))
    home.store.content[name.objectName] = dear
    #expect(try await Repository.open(at: home.store, with: secret).slot.number < 900)
    // And one of the greatest number stands in nobody's way: it is told.
    let last = NumberedName(
      prefix: Layout.slots, number: NumberedName.last, length: dear.count, digest: .sha256(of: dear))
    home.store.content[last.objectName] = dear
    let error = await #expect(throws: RepositoryError.self) {
      try await KeySlots(of: home.repository).add(
        .keyFile([UInt8](repeating: 5, count: 32)), current: secret, cost: .least, now: 1)
    }
    #expect(error?.code == .conflict)
    Fault.slots.met(2, "planted slot")
  }

  @Test func `the slot that opened last is tried before all others, and nothing else is asked of it`() async throws {
    let home = try await Home()
    let state = try home.state
    home.repository.rememberSlot(in: state)
    // One that opens too, and would have come first.
    let other = try KeySlot.seal(
      master: MasterKey([UInt8](repeating: 1, count: 32)), secret: Home.secret,
      repository: home.repository.id, cost: .least, createdAt: 1, random: systemRandom)
    let planted = NumberedName(prefix: Layout.slots, number: 900, length: other.count, digest: .sha256(of: other))
    home.store.content[planted.objectName] = other
    await #expect(throws: RepositoryError.self) { try await Repository.open(at: home.store, with: Home.secret) }

    let read = Locked<[ObjectName]>([])
    let watched = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix(Layout.slots) { read.withLock { $0.append(name) } }
      })
    let folder = home.stateFolder
    let opened = try await Repository.open(at: watched, with: Home.secret, state: folder)
    #expect(opened.slot.digest == home.repository.slot.digest)
    #expect(read.withLock { $0.count } == 1)

    // Gone, spoilt or of another secret, it stands in nobody's way.
    home.store.content[planted.objectName] = nil
    let key = SlotSecret.keyFile([UInt8](repeating: 8, count: 32))
    _ = try await KeySlots(of: home.repository).add(key, current: Home.secret, cost: .least, now: 1)
    let second = try await Repository.open(at: home.store, with: key, state: folder)
    #expect(second.slot.digest != home.repository.slot.digest)
    for (name, bytes) in home.store.content where name.text.hasSuffix(home.repository.slot.digest.hex) {
      home.store.content[name] = bytes.map { ~$0 }
    }
    #expect(try await Repository.open(at: home.store, with: key, state: folder).id == home.repository.id)
    try StateFiles.write([0xFF, 10], to: "\(state.path)/slot")
    #expect(try await Repository.open(at: home.store, with: key, state: folder).id == home.repository.id)
  }

  private static let passphrase = SlotSecret.passphrase(Array("correct horse".utf8))
  private static let dearest = SlotCost(logN: 20, r: 16, p: 4)

  /// What anybody can plant: the file of a repository that nobody has, and a slot of it.
  private func plant(_ byte: UInt8, asking cost: SlotCost, in home: Home) throws {
    let id = try #require(RepositoryID([UInt8](repeating: byte, count: 16)))
    let file = RepositoryFile(repository: id).encode()
    let planted = RepositoryFileName(repository: id, length: file.count, digest: .sha256(of: file))
    home.store.content[planted.objectName] = file
    var slot = try #require(home.store.content.first { $0.key.text.hasPrefix(Layout.slots) }).value
    slot.replaceSubrange(10..<13, with: [cost.logN, cost.r, cost.p])
    slot.replaceSubrange(16..<32, with: id.bytes)
    let name = NumberedName(
      prefix: Layout.slots, number: 900 + UInt64(byte), length: slot.count, digest: .sha256(of: slot))
    home.store.content[name.objectName] = slot
  }

  /// Opens slots of a repository; for those of others this machine has no memory.
  private func opening(_ home: Home, _ tried: Locked<[RepositoryID]>) -> SlotOpening {
    let own = home.repository.id
    return { slot, secret, repository throws(SealError) in
      tried.withLock { $0.append(repository) }
      guard repository == own else { throw SealError(.failed, "there is no memory left") }
      return try KeySlot.open(slot, secret: secret, repository: repository)
    }
  }

  @Test func `a planted repository whose slot asks for much costs nothing`() async throws {
    let home = try await Home(secret: Self.passphrase)
    _ = try await home.push(home.image(pages: 3, seed: 1))
    for byte in [UInt8.min, .max] { try plant(byte, asking: Self.dearest, in: home) }
    let folder = try Scratch()
    let remembered = StateFolder(reading: folder.path, repository: home.repository.id)
    for state in [nil, folder.path, folder.path] {
      let tried = Locked<[RepositoryID]>([])
      let opened = try await Repository.open(
        at: home.store, with: Self.passphrase, state: state, opening: opening(home, tried))
      #expect(opened.id == home.repository.id)
      #expect(tried.withLock { $0 } == [home.repository.id])
      if state != nil { opened.rememberSlot(in: remembered) }
    }
    Fault.slots.met(2, "planted slot")
  }

  @Test func `a machine that has used a repository looks for no other there`() async throws {
    let home = try await Home(secret: Self.passphrase)
    _ = try await home.push(home.image(pages: 3, seed: 1))
    let folder = home.stateFolder
    try home.repository.checkPlace(in: folder)
    home.repository.rememberSlot(in: try home.state)
    for byte in [UInt8.min, .max] { try plant(byte, asking: .least, in: home) }
    let read = Locked(0)
    let watched = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix(Layout.slots) { read.withLock { $0 += 1 } }
      })
    let tried = Locked<[RepositoryID]>([])
    let opened = try await Repository.open(
      at: watched, with: Self.passphrase, state: folder, opening: opening(home, tried))
    #expect(opened.id == home.repository.id)
    #expect(tried.withLock { $0 } == [home.repository.id])
    #expect(read.withLock { $0 } == 1)
  }

  @Test func `a slot that this machine has no memory for stands in no other's way`() async throws {
    let home = try await Home(secret: Self.passphrase)
    // Of equal work the youngest comes first: these are tried.
    for byte in [UInt8.min, .max] { try plant(byte, asking: .least, in: home) }
    let tried = Locked<[RepositoryID]>([])
    let opened = try await Repository.open(at: home.store, with: Self.passphrase, opening: opening(home, tried))
    #expect(opened.id == home.repository.id)
    #expect(tried.withLock { $0.count } == 3)
    // Not tried is not wrong.
    let error = await #expect(throws: SealError.self) {
      try await Repository.open(
        at: home.store, with: .passphrase(Array("wrong".utf8)), opening: opening(home, Locked([])))
    }
    #expect(error?.code == .failed)
  }

  /// Half a second and 128 MiB for each database of a run, otherwise.
  @Test func `a run derives the key of a slot once, and opens by none that is gone`() async throws {
    let home = try await Home(secret: Self.passphrase)
    let derived = Locked(0)
    let slots = OpenedSlots { slot, secret, repository throws(SealError) in
      derived.withLock { $0 += 1 }
      return try KeySlot.open(slot, secret: secret, repository: repository)
    }
    func open(with secret: SlotSecret) async throws -> Repository {
      try await Repository.open(
        at: home.store, with: secret,
        opening: { slot, secret, repository throws(SealError) in try slots.open(slot, secret, repository) })
    }
    for _ in 0..<3 { #expect(try await open(with: Self.passphrase).id == home.repository.id) }
    #expect(derived.withLock { $0 } == 1)
    let wrong = await #expect(throws: RepositoryError.self) {
      try await open(with: .passphrase(Array("wrong horse".utf8)))
    }
    #expect(wrong?.code == .wrongKey && derived.withLock { $0 } == 2)
    // Another key's slot takes its place: what is remembered of the one that is gone opens nothing.
    _ = try await KeySlots(of: home.repository).add(Home.secret, current: Self.passphrase, cost: .least, now: 1)
    let gone = home.repository.slot.digest.hex
    home.store.content = home.store.content.filter { !$0.key.text.hasSuffix(gone) }
    let closed = await #expect(throws: RepositoryError.self) { try await open(with: Self.passphrase) }
    #expect(closed?.code == .wrongKey)
    #expect(try await open(with: Home.secret).id == home.repository.id)
    var dumped = "\(slots) \(String(reflecting: slots))"
    dump(slots, to: &dumped)
    #expect(!dumped.contains("SlotSecret") && !dumped.contains("passphrase"))
  }

  @Test func `whoever is interrupted tries no further slots`() async throws {
    let home = try await Home(secret: Self.passphrase)
    for byte in UInt8(1)...20 { try plant(byte, asking: .least, in: home) }
    let tried = Locked(0)
    let opening: SlotOpening = { _, _, _ throws(SealError) in
      let count = tried.withLock { tried in
        tried += 1
        return tried
      }
      if count == 3 { withUnsafeCurrentTask { (task: UnsafeCurrentTask?) -> Void in task?.cancel() } }
      throw SealError(.failed, "there is no memory left")
    }
    let opened = Task { [store = home.store] in
      try await Repository.open(at: store, with: Self.passphrase, opening: opening)
    }
    await #expect(throws: CancellationError.self) { try await opened.value }
    #expect(tried.withLock { $0 } == 3)
  }

  @Test func `an empty repository does not hide one whose slot asks for more`() async throws {
    let (empty, home) = (try await Home(secret: Self.passphrase), try await Home(secret: Self.passphrase))
    _ = try await home.push(home.image(pages: 3, seed: 1))
    let cheap = home.repository.slot.digest.hex
    _ = try await KeySlots(of: home.repository).add(
      Self.passphrase, current: Self.passphrase, cost: SlotCost(logN: 15, r: 8, p: 2), now: 1)
    let store = MemoryStore()
    store.content = home.store.content.filter { !$0.key.text.hasSuffix(cheap) }
      .merging(empty.store.content) { first, _ in first }
    #expect(try await Repository.open(at: store, with: Self.passphrase).id == home.repository.id)
    // Nor does what an init left that was interrupted, where the file is gone, or that of another one is there.
    store.content = store.content.filter { !$0.key.text.hasPrefix("repo/") }
    #expect(try await Repository.open(at: store, with: Self.passphrase).id == home.repository.id)
    store.content.merge(try await Home().store.content) { first, _ in first }
    #expect(try await Repository.open(at: store, with: Self.passphrase).id == home.repository.id)
  }

  @Test func `among thousands of planted slots the right one is found soon`() async throws {
    let home = try await Home()
    let count = Environment.value("SEALIFT_CAMPAIGNS") == nil ? 1000 : 10_000
    for number in 0..<count {
      var junk = try KeySlot.seal(
        master: MasterKey([UInt8](repeating: 1, count: 32)), secret: .keyFile([UInt8](repeating: 9, count: 32)),
        repository: home.repository.id, cost: .least, createdAt: UInt64(number), random: systemRandom)
      // Some are whole and open to another key, some are cut in their seal, some are noise.
      if number % 3 == 1 { junk[100] ^= 1 }
      if number % 3 == 2 { junk = home.noise(KeySlot.length, seed: UInt64(number)) }
      let name = NumberedName(
        prefix: Layout.slots, number: UInt64(number + 10), length: junk.count, digest: .sha256(of: junk))
      home.store.content[name.objectName] = junk
    }
    let start = ContinuousClock.now
    #expect(try await Repository.open(at: home.store, with: Home.secret).slot.number < 10)
    #expect(ContinuousClock.now - start < .seconds(300))
    Fault.slots.met(count, "planted slot")
  }

  @Test(arguments: [Layout.slots, Layout.keyrings, Layout.configurations])
  func `a planted number without a successor ends nothing`(prefix: String) async throws {
    let home = try await CheckedHome()
    for (byte, number) in ["18446744073709551615", "1000000000000", "999999999999"].enumerated() {
      let bytes = [UInt8](repeating: UInt8(byte), count: 176)
      home.home.store.content[try #require(ObjectName("\(prefix)\(number)-176-\(Digest.sha256(of: bytes).hex)"))] =
        bytes
    }
    _ = try await home.check(nil)
    _ = try await Repository.open(at: home.home.store, with: Home.secret)
  }

  /// Needs no key: it must not lock anybody out.
  @Test func `a planted configuration of another format is passed over`() async throws {
    let home = try await Home()
    let own = home.store.content.filter { $0.key.text.hasPrefix(Layout.configurations) }
    var planted = try #require(own.values.first)
    planted[8] = 2
    let name = NumberedName(
      prefix: Layout.configurations, number: 999, length: planted.count, digest: .sha256(of: planted))
    home.store.content[name.objectName] = planted
    _ = try await Repository.open(at: home.store, with: Home.secret)
    // Where nothing else is there, a newer program wrote it.
    for name in own.keys { home.store.content[name] = nil }
    let error = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: home.store, with: Home.secret)
    }
    #expect(error?.code == .unsupported)
  }

  @Test func `slots that are all damaged are damage, not a wrong key`() async throws {
    let home = try await Home()
    let wrong = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: home.store, with: .keyFile([UInt8](repeating: 8, count: 32)))
    }
    #expect(wrong?.code == .wrongKey)
    for name in home.store.content.keys where name.text.hasPrefix("keys/") { home.store.content[name]?[50] ^= 1 }
    let damaged = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: home.store, with: Home.secret)
    }
    #expect(damaged?.code == .damaged)
  }

  /// Both copies of one of two slots.
  @Test(arguments: ["flipped", "cut", "later", "gone"])
  func `whoever may have the key of a slot that nobody can try is told so`(harm: String) async throws {
    let home = try await Home()
    let key = SlotSecret.keyFile([UInt8](repeating: 5, count: 32))
    let slot = try await KeySlots(of: home.repository).add(key, current: Home.secret, cost: .least, now: 1).name
    SlotMemory(in: try home.state).remember(slot.digest)
    func refusal(_ key: SlotSecret, in state: String?) async throws -> RepositoryError {
      let error = await #expect(throws: RepositoryError.self) {
        try await Repository.open(at: home.store, with: key, state: state)
      }
      return try #require(error)
    }
    let names = home.store.content.keys.filter { $0.text.hasSuffix(slot.digest.hex) }.sorted()
    #expect(names.count == 2)
    let plain = try await refusal(.keyFile([UInt8](repeating: 8, count: 32)), in: home.stateFolder)
    for (index, name) in names.enumerated() {
      let bytes = try #require(home.store.content[name])
      switch harm {
      case "flipped": home.store.content[name]?[150] ^= 1
      case "cut": home.store.content[name]?.removeLast()
      case "later":
        home.store.content[name] = nil
        let later = Array(bytes[..<8]) + [1] + Array(bytes[9...])
        let planted = NumberedName(
          prefix: Layout.slots, number: slot.number + UInt64(index), length: later.count, digest: .sha256(of: later))
        home.store.content[planted.objectName] = later
      default: home.store.content[name] = nil
      }
      guard index == 0, harm != "later" else { continue }
      // The other copy was tried.
      let wrong = try await refusal(.keyFile([UInt8](repeating: 8, count: 32)), in: home.stateFolder)
      #expect(wrong.code == .wrongKey && wrong.hint == plain.hint)
    }
    let (new, known) = (try await refusal(key, in: nil), try await refusal(key, in: home.stateFolder))
    #expect(new.code == .wrongKey && known.code == .wrongKey)
    let hints = [new.hint, known.hint].map { $0?.dropFirst(plain.hint?.count ?? 0) ?? "" }
    switch harm {
    case "later":
      for hint in hints { #expect(hint.contains("install a newer sealift"), "\(hint)") }
      let own = home.repository.slot.digest.hex
      home.store.content = home.store.content.filter { !$0.key.text.hasSuffix(own) }
      #expect(try await refusal(key, in: nil).code == .unsupported)
    case "gone": #expect(hints[0].isEmpty && hints[1].contains("opened here last is gone"), "\(hints)")
    default:
      for hint in hints { #expect(hint.contains("damaged (keys/") && hint.contains(slot.digest.hex), "\(hint)") }
      #expect(hints[1].contains("opened here last is damaged"))
    }
  }

  @Test func `a damaged slot does not count when the last good one is to be removed`() async throws {
    let home = try await Home()
    let slots = KeySlots(of: home.repository)
    let other = try await slots.add(
      .keyFile([UInt8](repeating: 5, count: 32)), current: Home.secret, cost: .least, now: 1)
    for name in home.store.content.keys where name.text.hasSuffix(other.name.digest.hex) {
      home.store.content[name]?[150] ^= 1
    }
    let error = await #expect(throws: RepositoryError.self) {
      try await slots.remove(String(home.repository.slot.digest.hex.prefix(12)), force: true)
    }
    #expect(error?.code == .slotNeeded)
    #expect(try await slots.list().map(\.isDamaged) == [false, true])
    _ = try await slots.remove(other.id, force: false)
    #expect(try await slots.list().map(\.name.digest) == [home.repository.slot.digest])
  }

  /// What a later one looks like behind its version, and how long it is, nobody knows yet.
  @Test(arguments: [9, 100, 200, 65_536])
  func `a slot of a later format is not damaged, whatever its length`(length: Int) async throws {
    let home = try await Home()
    let own = try #require(home.store.content[home.repository.slot.objectName])
    func plant(version: UInt8, number: UInt64) -> NumberedName {
      let bytes = Array(own[..<8]) + [version] + [UInt8](repeating: 1, count: length - 9)
      let name = NumberedName(prefix: Layout.slots, number: number, length: length, digest: .sha256(of: bytes))
      home.store.content[name.objectName] = bytes
      return name
    }
    let later = plant(version: 1, number: 11)
    let slots = KeySlots(of: home.repository)
    #expect(try await slots.list().map(\.name.digest) == [home.repository.slot.digest])
    let state = try home.state
    let report = try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: nil).run()
    #expect(report.damaged.isEmpty)
    let wrong = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: home.store, with: .keyFile([UInt8](repeating: 8, count: 32)))
    }
    #expect(wrong?.code == .wrongKey && wrong?.hint?.contains("install a newer sealift") == true)
    // Other bytes than those of its name are none that somebody wrote.
    home.store.content[later.objectName]?[length - 1] ^= 2
    #expect(try await slots.list().filter(\.isDamaged).map(\.name.digest) == [later.digest])
    home.store.content[later.objectName] = nil
    let short = plant(version: 0, number: 13)
    #expect(try await slots.list().filter(\.isDamaged).map(\.name.digest) == [short.digest])
  }

  @Test func `a slot that is deleted in words only is not said to be gone`() async throws {
    let home = try await Home()
    let other = try await KeySlots(of: home.repository).add(
      .keyFile([UInt8](repeating: 5, count: 32)), current: Home.secret, cost: .least, now: 1)
    let store = HookedStore(home.store, ignoresDeletions: true)
    let slots = KeySlots(of: try await Repository.open(at: store, with: Home.secret))
    let error = await #expect(throws: StoreError.self) { try await slots.remove(other.id, force: false) }
    #expect(error?.code == .badAnswer)
  }

  @Test func `a slot that lies there twice is tried once`() async throws {
    let home = try await Home()
    let gets = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("keys/") { gets.withLock { $0 += 1 } }
      })
    await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: store, with: .keyFile([UInt8](repeating: 8, count: 32)))
    }
    #expect(gets.withLock { $0 } == 1)
  }
}
