import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a target lost is written anew where it can be had, under the same ids.
@Suite struct RepairTests {
  /// Three versions that share a pack: the second has some pages of its own, the third is the first and more.
  private struct Chain {
    let home: Home
    let scratch: Scratch
    var images: [[UInt8]] = []
    var versions: [StoredManifest] = []

    init() async throws {
      home = try await Home()
      scratch = try Scratch()
      let first = home.image(pages: 60, seed: 1)
      images = [
        first, first.prefix(40 * 4096) + home.noise(30 * 4096, seed: 2), first + home.noise(20 * 4096, seed: 3),
      ]
      for image in images { versions.append(try await home.push(image).manifest) }
    }

    /// The pack of the first push.
    var shared: Digest {
      get async throws {
        try await PackTable(of: versions[0], repository: home.repository, state: nil).all[0].name
      }
    }

    func local(_ images: [[UInt8]]) throws -> LocalPages {
      var paths: [String] = []
      for image in images {
        paths.append(scratch.file("image-\(UInt32.random(in: 0...UInt32.max))"))
        try writeFile(paths[paths.count - 1], image)
      }
      return try LocalPages(paths, pageSize: 4096, keys: home.repository.keys, tables: scratch.path)
    }

    func lose(_ packs: [Digest]) async throws {
      for pack in packs { try await home.store.delete(Layout.pack(pack, of: home.chain)) }
      var damaged = try DamagedPacks(of: home.chain, in: try home.state)
      try damaged.add(packs, of: home.chain, in: try home.state)
    }

    func rewrite(_ version: StoredManifest, from local: LocalPages?, dryRun: Bool = false) async throws -> Bool {
      let rewrite = VersionRewrite(home.repository, chain: home.chain, state: try home.state, tables: scratch.path)
      return try await rewrite.run(version, from: local, dryRun: dryRun)
    }

    func report() async throws -> CheckReport {
      try await RepositoryCheck(home.repository, state: home.state, tables: scratch.path, subset: .all).run()
    }

    /// The manifest that counts for a version now.
    func now(_ version: StoredManifest) async throws -> StoredManifest {
      let objects = try await home.store.list(prefix: Layout.versions)
      let history = try await home.repository.history(of: ChainListing(chain: home.chain, objects: objects))
      #expect(history.problems.isEmpty)
      let facts = try #require(history.versions.first { $0.id == version.id })
      return try await home.repository.readManifest(facts.name)
    }
  }

  @Test func `it tells how far it is with a version`() async throws {
    let chain = try await Chain()
    let (pack, local) = (try await chain.shared, try chain.local([chain.images[0]]))
    try await chain.lose([pack])
    var rewrite = VersionRewrite(
      chain.home.repository, chain: chain.home.chain, state: try chain.home.state, tables: chain.scratch.path)
    let told = Locked<[VersionRewrite.Step: [Int]]>([:])
    rewrite.onProgress = { step, done in told.withLock { $0[step, default: []].append(done) } }
    #expect(try await rewrite.run(chain.versions[0], from: local, dryRun: false))
    for step in [VersionRewrite.Step.salvaging, .writing] {
      let done = told.withLock { $0[step] } ?? []
      #expect(done == done.sorted() && done.last == chain.images[0].count, "\(step)")
    }
  }

  @Test func `what only damaged packs held is stored anew by the next push`() async throws {
    let chain = try await Chain()
    let pack = try await chain.shared
    var damaged = try DamagedPacks(of: chain.home.chain, in: try chain.home.state)
    try damaged.add([pack], of: chain.home.chain, in: try chain.home.state)
    let result = try await chain.home.push(chain.images[2])
    #expect(!result.unchanged)
    let table = try await PackTable(of: result.manifest, repository: chain.home.repository, state: nil)
    #expect(!table.all.map(\.name).contains(pack))
    try await chain.lose([pack])
    #expect(try await chain.home.read(result.manifest) == chain.images[2])
  }

  @Test func `every version is saved that an image on this machine can make whole`() async throws {
    let chain = try await Chain()
    let before = Set(chain.home.store.content.keys)
    try await chain.lose([try await chain.shared])
    #expect(try await chain.report().harmed == Set(chain.versions.map(\.id)))
    let local = try chain.local([chain.images[2]])
    for version in chain.versions.reversed() { #expect(try await chain.rewrite(version, from: local)) }
    for (version, image) in zip(chain.versions, chain.images) {
      let now = try await chain.now(version)
      #expect(now.name.revision == 1 && now.id == version.id && now.body.core == version.body.core)
      #expect(now.body.tags == version.body.tags && now.body.note == version.body.note)
      #expect(try await chain.home.read(now) == image)
    }
    let report = try await chain.report()
    #expect(report.isSound && report.whole == Set(chain.versions.map(\.id)))
    // New objects only; what was there is there.
    #expect(Set(chain.home.store.content.keys).isSuperset(of: before.subtracting([try await lostName(chain)])))
    // What comes after goes on.
    let next = try await chain.home.push(chain.images[0] + chain.home.noise(4096, seed: 9))
    #expect(next.manifest.name.sequence == 4)
    #expect(try await chain.report().isSound)
  }

  /// Who listed the chain before that knows only the manifest that was replaced.
  @Test func `what was written anew and tidied up meanwhile has no flaw`() async throws {
    let chain = try await Chain()
    let (home, newest) = (chain.home, chain.versions[2])
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let before = try await home.repository.history(of: listing)
    func flaw() async throws -> RepositoryError.Code? {
      try await home.repository.lastingFlaw(of: newest.facts, in: before)?.code
    }
    #expect(try await flaw() == nil)
    try await chain.lose([try await chain.shared])
    #expect(try await chain.rewrite(newest, from: chain.local([chain.images[2]])))
    let anew = try await chain.now(newest).name
    home.store.content[newest.name.objectName] = nil
    #expect(try await home.repository.flaw(of: newest.facts, in: before) != nil)
    #expect(try await flaw() == nil)
    // It has when that is damaged, too, or gone.
    let bytes = try #require(home.store.content[anew.objectName])
    home.store.content[anew.objectName]?[300] ^= 1
    #expect(try await flaw() == .damaged)
    home.store.content[anew.objectName] = nil
    #expect(try await flaw() == .damaged)
    // What was forgotten may be deleted.
    home.store.content[anew.objectName] = bytes
    _ = try await home.push(chain.images[0] + home.noise(4096, seed: 9))
    _ = try await home.repository.forget([newest.facts], now: 1)
    home.store.content[anew.objectName] = nil
    #expect(try await flaw() == nil)
  }

  private func lostName(_ chain: Chain) async throws -> ObjectName {
    Layout.pack(try await chain.shared, of: chain.home.chain)
  }

  @Test func `intact frames of a damaged pack are used, and pages are found wherever they are`() async throws {
    let chain = try await Chain()
    let name = try await lostName(chain)
    chain.home.store.content[name]?[200] ^= 1
    var damaged = try DamagedPacks(of: chain.home.chain, in: try chain.home.state)
    try damaged.add([try await chain.shared], of: chain.home.chain, in: try chain.home.state)
    // In another order: found by their fingerprints.
    let pages = stride(from: 0, to: chain.images[0].count, by: 4096).map { Array(chain.images[0][$0..<$0 + 4096]) }
    let local = try chain.local([pages.reversed().flatMap { $0 }])
    #expect(try await chain.rewrite(chain.versions[0], from: local))
    #expect(try await chain.home.read(chain.now(chain.versions[0])) == chain.images[0])
  }

  /// Somebody named one of two packs that lie on a failing disk.
  @Test func `a version that is written anew needs no pack in which some of it was lost`() async throws {
    let chain = try await Chain()
    let (home, shared, version) = (chain.home, try await chain.shared, chain.versions[2])
    let table = try await PackTable(of: version, repository: home.repository, state: nil)
    let other = try #require(table.all.map(\.name).first { $0 != shared })
    for pack in [shared, other] { home.store.content[Layout.pack(pack, of: home.chain)]?[200] ^= 1 }
    let state = try home.state
    var damaged = try DamagedPacks(of: home.chain, in: state)
    try damaged.add([shared], of: home.chain, in: state)
    let local = try chain.local([chain.images[2]])
    let rewrite = VersionRewrite(home.repository, chain: home.chain, state: state, tables: chain.scratch.path)
    #expect(try await rewrite.run(version, from: local, dryRun: true))
    #expect(try DamagedPacks(of: home.chain, in: state).names == [shared])
    #expect(rewrite.spoiltPacks == [shared, other] && rewrite.neededPacks.isEmpty)
    #expect(try await rewrite.run(version, from: local, dryRun: false))
    #expect(try DamagedPacks(of: home.chain, in: state).names == [shared, other])
    #expect(!rewrite.neededPacks.isEmpty && rewrite.neededPacks.isDisjoint(with: [shared, other]))
    #expect(try await home.read(chain.now(version)) == chain.images[2])
  }

  /// The line is cut behind one of its two packs.
  @Test func `packs that were met are noted also where the target goes away in the middle of a version`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = [home.noise(4096, seed: 1), home.noise(4096, seed: 2)]
    for page in pages { made.place(pack: try await made.pack([made.raw([page])]).number, frame: 0, count: 1) }
    let version = try await made.manifest(image: pages.flatMap { $0 })
    let (spoilt, state) = (made.packs[0].name, try home.state)
    home.store.content[Layout.pack(spoilt, of: home.chain)]?[200] ^= 1
    let away = Layout.pack(made.packs[1].name, of: home.chain)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name == away { throw StoreError(.unavailable, "the connection was cut") }
      })
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let rewrite = VersionRewrite(repository, chain: home.chain, state: state, tables: home.stateFolder)
    for isDryRun in [true, false] {
      let error = await #expect(throws: StoreError.self) {
        _ = try await rewrite.run(version, from: nil, dryRun: isDryRun)
      }
      #expect(error?.code == .unavailable)
      #expect(rewrite.spoiltPacks == [spoilt])
      #expect(try DamagedPacks(of: home.chain, in: state).names == (isDryRun ? [] : [spoilt]))
    }
  }

  /// Nothing of it is on this machine.
  @Test func `what was stored anew for a later version saves an older one`() async throws {
    let chain = try await Chain()
    let (home, pack) = (chain.home, try await chain.shared)
    home.store.content[try await lostName(chain)]?[200] ^= 1
    var damaged = try DamagedPacks(of: home.chain, in: try home.state)
    try damaged.add([pack], of: home.chain, in: try home.state)
    let newest = try await home.push(chain.images[2]).manifest
    #expect(try await !chain.rewrite(chain.versions[0], from: nil))
    let packs = WholePacks(
      of: newest.facts, without: [pack], home.repository, state: try home.state, tables: chain.scratch.path,
      keeping: FetchedPacks(in: chain.scratch.path))
    let rewrite = VersionRewrite(
      home.repository, chain: home.chain, state: try home.state, tables: chain.scratch.path)
    #expect(try await rewrite.run(chain.versions[0], from: nil, packs: packs, dryRun: false))
    #expect(try await home.read(chain.now(chain.versions[0])) == chain.images[0])
  }

  @Test func `deltas are decoded on pages that only this machine has`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let made = HandmadeVersion(home)
    let base = home.noise(4096, seed: 1)
    var page = base
    page[9] ^= 1
    let below = try await made.pack([made.raw([base])])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    try await made.pack([made.delta([page], on: [run], prefix: base)], basePacks: [below.name])
    made.place(pack: 2, frame: 0, count: 1)
    let version = try await made.manifest(image: page)
    let state = try home.state
    home.store.content[Layout.pack(below.name, of: home.chain)]?[140] ^= 1
    var damaged = try DamagedPacks(of: home.chain, in: state)
    try damaged.add([below.name], of: home.chain, in: state)
    let rewrite = VersionRewrite(home.repository, chain: home.chain, state: state, tables: scratch.path)
    #expect(try await !rewrite.run(version, from: nil, dryRun: false))
    // In the image of another version, and at another place of it.
    try writeFile(scratch.file("anchor"), home.noise(4096, seed: 2) + base)
    let local = try LocalPages(
      [scratch.file("anchor")], pageSize: 4096, keys: home.repository.keys, tables: scratch.path)
    #expect(try await rewrite.run(version, from: local, dryRun: false))
    let objects = try await home.store.list(prefix: Layout.versions)
    let history = try await home.repository.history(of: ChainListing(chain: home.chain, objects: objects))
    let now = try await home.repository.readManifest(try #require(history.newest).name)
    #expect(now.id == version.id && now.name.revision == 1)
    #expect(try await home.read(now) == page)
  }

  @Test func `whoever is interrupted looks through no image`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    try writeFile(scratch.file("image"), home.noise(3 * 4096, seed: 1))
    let indexed = Task { [keys = home.repository.keys, path = scratch.file("image"), folder = scratch.path] in
      while !Task.isCancelled { await Task.yield() }
      return try LocalPages([path], pageSize: 4096, keys: keys, tables: folder).images.count
    }
    indexed.cancel()
    await #expect(throws: CancellationError.self) { try await indexed.value }
  }

  @Test func `without a trace of what was where, an image that is the version is taken`() async throws {
    let chain = try await Chain()
    try await chain.lose([try await chain.shared])
    chain.home.forgetState()
    #expect(try await !chain.rewrite(chain.versions[0], from: chain.local([chain.images[1]])))
    #expect(try await chain.rewrite(chain.versions[0], from: chain.local([chain.images[1], chain.images[0]])))
    #expect(try await chain.home.read(chain.now(chain.versions[0])) == chain.images[0])
  }

  @Test func `what cannot be had is not written`() async throws {
    let chain = try await Chain()
    try await chain.lose([try await chain.shared])
    let before = chain.home.store.content
    for local in [nil, try chain.local([chain.home.noise(60 * 4096, seed: 99)])] {
      #expect(try await !chain.rewrite(chain.versions[0], from: local))
    }
    #expect(try await chain.rewrite(chain.versions[0], from: chain.local([chain.images[0]]), dryRun: true))
    #expect(chain.home.store.content == before)
  }

  @Test func `a manifest that was lost is had from what this machine keeps`() async throws {
    let chain = try await Chain()
    let version = chain.versions[1]
    chain.home.store.content[version.name.objectName] = nil
    #expect(try await chain.report().harmed == [version.id])
    let rewrite = VersionRewrite(
      chain.home.repository, chain: chain.home.chain, state: try chain.home.state, tables: chain.scratch.path)
    let kept = try #require(rewrite.kept(version.name))
    #expect(try await chain.rewrite(kept, from: nil))
    #expect(try await chain.home.read(chain.now(version)) == chain.images[1])
    #expect(try await chain.report().isSound)
  }

  @Test func `a manifest that was damaged is no problem any more once its version is written anew`() async throws {
    let chain = try await Chain()
    let version = chain.versions[1]
    chain.home.store.content[version.name.objectName]?[200] ^= 1
    #expect(try await chain.report().harmed == [version.id])
    let rewrite = VersionRewrite(
      chain.home.repository, chain: chain.home.chain, state: try chain.home.state, tables: chain.scratch.path)
    #expect(try await rewrite.run(try #require(rewrite.kept(version.name)), from: nil, dryRun: false))
    #expect(try await chain.home.read(chain.now(version)) == chain.images[1])
    let report = try await chain.report()
    #expect(report.isSound && report.allFindings.map(\.kind) == [.spare])
  }

  @Test func `what would turn out to be another version is never written`() async throws {
    let chain = try await Chain()
    let state = try chain.home.state
    let presence = try await Presence(chain.home.repository, chain: chain.home.chain, state: state)
    let loader = try KnownPacksLoader(
      chain.home.repository, chain: chain.home.chain, state: state, presence: presence)
    let image = chain.images[0]
    var draft = VersionDraft(
      chain: chain.home.chain, sequence: 1, previous: .zero, time: 5, host: "host", database: "app", method: .pages,
      flags: [],
      members: [
        MemberSource(
          content: .image(pageSize: 4096), path: "app.db", mode: 0o600, modified: 5, length: image.count,
          read: { Array(image[$0]) })
      ], tags: [], note: "", compressionLevel: 1)
    draft.expectedCore = chain.versions[0].body.core
    let policy = PushSession.Policy(now: { 0 })
    var writer = try VersionWriter(
      draft, level: .leaf, repository: chain.home.repository, state: state, known: loader.known, resumed: [],
      reusesLeftovers: true,
      nextPackNumber: 100, partials: PartialManifests(policy, nextRevision: 1), dryRun: false, onPackStored: { _ in },
      onManifest: { _ in })
    var isRefused = false
    do {
      _ = try await writer.write(after: nil, evenIfEqual: true, onProgress: { _ in })
    } catch is VersionWriter.Deviation {
      isRefused = true
    }
    #expect(isRefused)
    #expect(chain.home.store.content.keys.filter { $0.text.hasPrefix("versions/") }.count == 3)
  }

  @Test func `a prune that comes in between makes a repair write again`() async throws {
    let chain = try await Chain()
    try await chain.lose([try await chain.shared])
    let home = chain.home
    let known = Set(home.packs())
    let done = Locked(false)
    let meddled = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"),
          !done.withLock({ done in
            defer { done = true }; return done
          })
        else {
          return
        }
        for pack in home.packs() where !known.contains(pack) {
          try await home.store.delete(Layout.pack(pack, of: home.chain))
        }
      })
    let repository = Repository(
      store: meddled, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let rewrite = VersionRewrite(repository, chain: home.chain, state: try home.state, tables: chain.scratch.path)
    #expect(try await rewrite.run(chain.versions[0], from: chain.local([chain.images[0]]), dryRun: false))
    let now = try await chain.now(chain.versions[0])
    #expect(now.name.revision == 2)
    #expect(try await home.read(now) == chain.images[0])
  }

  @Test func `what opens the repository is stored anew from the copy that is whole`() async throws {
    let chain = try await Chain()
    let content = chain.home.store.content
    for prefix in [Layout.slots, Layout.keyrings, Layout.configurations, Layout.repositories] {
      for name in content.keys where name.text.hasPrefix(prefix) {
        for isLost in [true, false] {
          chain.home.store.content = content
          if isLost { chain.home.store.content[name] = nil } else { chain.home.store.content[name]?[20] ^= 1 }
          #expect(try await !chain.report().isSound)
          let opened = try await Repository.open(at: chain.home.store, with: Home.secret, lackingFile: true)
          #expect(try await opened.repairOpening().count == 1)
          #expect(try await chain.report().isSound, "\(name)")
          _ = try await Repository.open(at: chain.home.store, with: Home.secret)
          #expect(try await opened.repairOpening().isEmpty)
        }
      }
    }
  }
}
