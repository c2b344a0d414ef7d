import Storage
import TestKit
import Testing

/// The contract is only worth something if it sees when a store breaks it.
@Suite struct StoreContractTests {
  @Test func `a store in memory keeps every promise, and is left as it was found`() async {
    let memory = MemoryStore()
    #expect(await brokenPromises(of: memory) == [])
    #expect(memory.content.isEmpty)
  }

  @Test func `wrappers keep every promise of what they wrap`() async {
    let store = RetryingStore(ThrottledStore(TallyingStore(MemoryStore()), concurrency: 2))
    #expect(await brokenPromises(of: store) == [])
  }

  @Test func `findings are told one by one`() async {
    let told = Locked<[StoreContract.Finding]>([])
    let findings = await StoreContract.run(on: MemoryStore()) { finding in told.withLock { $0.append(finding) } }
    #expect(findings.count == StoreContract.promiseCount + 1)
    #expect(told.withLock { $0 } == findings)
    #expect(Set(findings.map(\.promise)).count == findings.count)
  }

  @Test func `a target that does not answer is one finding`() async {
    let faulty = FaultyStore(MemoryStore())
    faulty.plan(.head, .failure(StoreError(.unauthenticated, "the password is wrong")))
    let findings = await StoreContract.run(on: faulty)
    #expect(findings.count == 1)
    #expect(findings.first?.verdict == .broken("the password is wrong"))
  }

  @Test(arguments: [
    StoreError.Code.unauthenticated, .noTarget, .redirected, .clockSkew, .tls, .throttled, .unavailable, .forbidden,
    .full,
  ])
  func `a target that cannot be asked is no verdict`(_ code: StoreError.Code) async {
    let faulty = FaultyStore(MemoryStore())
    faulty.plan(.list, .failure(StoreError(code, "no")))
    let outcome = await StoreContract.examine(faulty)
    #expect(outcome.findings.isEmpty && outcome.obstacle?.error.code == code)
    #expect(!outcome.isWhole && outcome.leftovers == nil && faulty.count(.put) == 0)
  }

  @Test func `what comes in the middle ends the trials, says which were not made, and cleans up`() async {
    let memory = MemoryStore()
    let faulty = FaultyStore(memory)
    faulty.plan(.get, .none, times: 4)
    faulty.plan(.get, .failure(StoreError(.unavailable, "cut")), times: 1)
    let outcome = await StoreContract.examine(faulty)
    #expect(outcome.obstacle?.error.code == .unavailable)
    #expect(outcome.findings.count == 2 && !outcome.findings.contains(where: \.isBroken))
    #expect(outcome.untried.count == StoreContract.promiseCount - 1)
    #expect(outcome.untried.first == outcome.obstacle?.promise)
    #expect(outcome.leftovers == nil && memory.content.isEmpty)
  }

  /// The first object of all, the first that is not empty, and one of those that several writers store at once.
  @Test(arguments: [0, 1, 64])
  func `a target that is full is no verdict, whenever that is met`(_ stored: Int) async {
    let memory = MemoryStore()
    let faulty = FaultyStore(memory)
    faulty.plan(.put, .none, times: stored)
    faulty.plan(.put, .failure(StoreError(.full, "no room")), times: 1000)
    let outcome = await StoreContract.examine(faulty)
    #expect(outcome.obstacle?.error.code == .full && !outcome.findings.contains(where: \.isBroken))
    #expect(outcome.untried.first == outcome.obstacle?.promise)
    #expect(outcome.leftovers == nil && memory.content.isEmpty)
  }

  @Test func `credentials that may not delete break no promise`() async {
    let memory = MemoryStore()
    let faulty = FaultyStore(memory)
    faulty.plan(.delete, .failure(StoreError(.forbidden, "no")), times: 1000)
    let outcome = await StoreContract.examine(faulty)
    #expect(outcome.mayNotDelete && outcome.obstacle == nil && !outcome.isWhole)
    #expect(outcome.findings.count == StoreContract.promiseCount - 1)
    #expect(outcome.findings.filter(\.isBroken).isEmpty)
    #expect(outcome.untried.count == 2)
    let folder = outcome.leftovers ?? "none"
    #expect(!memory.content.isEmpty && memory.content.keys.allSatisfy { $0.text.hasPrefix("\(folder)/") })
  }

  /// What Windows keeps for itself, some servers refuse everywhere, as Nextcloud does.
  @Test func `a store that refuses the names of devices keeps every promise`() async {
    let devices: Set<Substring> = ["con", "prn", "aux", "nul", "com1", "lpt1"]
    let store = HookedStore(
      MemoryStore(),
      beforePut: { name async throws(StoreError) in
        let stems = name.text.split(separator: "/").map { part in part.prefix { $0 != "." } }
        guard devices.isDisjoint(with: stems) else { throw StoreError(.badAnswer, "\(name) is the name of a device") }
      })
    #expect(await brokenPromises(of: store) == [])
  }

  @Test(arguments: BrokenStore.Fault.allCases)
  func `a store with a fault is found out`(_ fault: BrokenStore.Fault) async {
    let broken = await brokenPromises(of: BrokenStore(fault: fault))
    #expect(broken.contains { $0.contains(fault.rawValue) }, "\(broken)")
  }
}

/// A store that does one thing wrong. The raw value is part of the promise that must be found broken.
struct BrokenStore: ObjectStore {
  enum Fault: String, Sendable, CaseIterable {
    case errorForAbsence = "what is not there is absent"
    case dropsLastByte = "gives back what was stored"
    case wrongSizesListed = "tells the right size"
    case listsLate = "lists an object as soon as"
    case complainsAboutRepetition = "takes the same bytes again"
    case overwrites = "keeps what is there"
    case neverReplaces = "replaces an object"
    case ignoresRanges = "reads exactly the range"
    case clampsRanges = "refuses a range outside"
    case listsWholeFolders = "lists by any prefix"
    case cutsNames = "long and deep names"
    case forgetsSome = "twenty objects at once"
    case manyWinners = "one of many writers"
    case showsParts = "never shows a part"
    case keepsDeleted = "forgets what was deleted"
    case cannotClean = "left as it was found"
  }

  let fault: Fault
  private let base = MemoryStore()
  private let puts = Locked(0)
  private let late = Locked<ObjectName?>(nil)

  init(fault: Fault) { self.fault = fault }

  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    let number = puts.withLock { puts in
      puts += 1
      return puts
    }
    let exists = base.content[name] != nil
    late.withLock { $0 = name }
    switch fault {
    case .dropsLastByte: try await base.put(ObjectBody(body.bytes.dropLast()), at: name, ifAbsent: ifAbsent)
    case .complainsAboutRepetition where exists && ifAbsent: throw StoreError(.exists, "taken")
    case .overwrites: try await base.put(body, at: name, ifAbsent: false)
    case .neverReplaces where exists && !ifAbsent: return
    case .forgetsSome where name.text.contains("/crowd/") && number % 7 == 0:
      try await base.put(body, at: ObjectName("elsewhere/\(number)")!, ifAbsent: false)
    case .manyWinners where name.text.hasSuffix("/race"): try await base.put(body, at: name, ifAbsent: false)
    case .showsParts where body.bytes.count > 4 << 20:
      try await base.put(ObjectBody(Array(body.bytes.prefix(1000))), at: name, ifAbsent: false)
      try? await Task.sleep(for: .milliseconds(50))
      try await base.put(body, at: name, ifAbsent: false)
    default: try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    let whole = try await base.get(name, range: nil)
    switch (fault, range) {
    case (.ignoresRanges, _?): return whole
    case (.clampsRanges, let range?): return Array(whole[range.clamped(to: 0..<whole.count)])
    default: return try await base.get(name, range: range)
    }
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    let info = try await base.head(name)
    if fault == .errorForAbsence, info == nil { throw StoreError(.notFound, "nothing there") }
    return info
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    let listed = try await base.list(prefix: prefix)
    switch fault {
    case .wrongSizesListed: return listed.map { ObjectInfo(name: $0.name, size: $0.size + 1) }
    case .listsLate: return listed.filter { info in late.withLock { $0 != info.name } }
    case .listsWholeFolders:
      return try await base.list(prefix: String(prefix.prefix(through: prefix.lastIndex(of: "/") ?? prefix.startIndex)))
    case .cutsNames: return listed.filter { $0.name.lastComponent.count < 150 }
    case .forgetsSome: return listed.filter { !$0.name.text.hasPrefix("elsewhere/") }
    default: return listed
    }
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    switch fault {
    case .keepsDeleted: return
    case .cannotClean where name.text.hasSuffix("/race"): return
    default: try await base.delete(name)
    }
  }
}
