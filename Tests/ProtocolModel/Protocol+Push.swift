/// Packs → manifest → LIST gone → LIST packs → acknowledged; a conflict once leads to a second attempt under new names.
extension Protocol {
  private enum At {
    static let beginning: UInt8 = 0
    static let pack: UInt8 = 1
    static let partialOrManifest: UInt8 = 2
    static let manifest: UInt8 = 3
    static let firstListing: UInt8 = 4
    static let secondListing: UInt8 = 5
    static let end: UInt8 = 6
  }

  func write(_ world: World, _ index: Int, _ body: (World, Step) -> Void) {
    let writer = world.writer(index)
    switch writer.step {
    case At.beginning: begin(world, index, writer, body)
    case At.pack: putPack(world, index, writer, body)
    case At.partialOrManifest:
      putManifest(world, index, writer, body)
      if instance.partials, writer.attempt == 0, writer.repairs == 0 {
        var next = world
        next.put(Name.partial(index), isRepeated: instance.latePuts)
        next.set(writer.at(At.manifest), index)
        body(next, .writer(index, "puts a partial manifest that protects", Name.pack(index, 0)))
      }
    case At.manifest: putManifest(world, index, writer, body)
    case At.firstListing: endFirstListing(world, index, writer, body)
    case At.secondListing: endSecondListing(world, index, writer, body)
    default: break
    }
  }

  private func manifest(_ index: Int, _ writer: World.Writer) -> Names {
    writer.repairs != 0 ? Name.a2 : Name.version(index, Int(writer.attempt))
  }

  /// What the version will refer to is chosen freely, without a look at what is there: whatever it knows may be old.
  private func begin(_ world: World, _ index: Int, _ writer: World.Writer, _ body: (World, Step) -> Void) {
    let attempt = Int(writer.attempt)
    let own = Name.pack(index, attempt)
    func start(_ packs: Names, repairs: Bool = false) {
      var next = world
      var starting = writer.at(At.pack)
      starting.repairs = repairs ? 1 : 0
      if repairs { next.refsA2 = UInt8(packs) } else { next.setPacks(packs, writer: index, attempt: attempt) }
      next.set(starting, index)
      body(next, .writer(index, repairs ? "begins to repair A with" : "begins a version of", packs))
    }
    if attempt == 1 {
      let before = world.packs(of: Name.version(index, 0))
      if rules.uploadsDeletedNamesAgain { return start(before) }
      start(own)
      start(own | before)
      return
    }
    if instance.repairs, index == 0 { start(own, repairs: true) }
    guard instance.pushes else { return }
    start(own)
    start(own | Name.old)
    if index == 1, world.present & Name.partial(0) != 0 { start(own | Name.pack(0, 0)) }
  }

  private func putPack(_ world: World, _ index: Int, _ writer: World.Writer, _ body: (World, Step) -> Void) {
    var next = world
    var packs = Name.pack(index, Int(writer.attempt))
    if rules.uploadsDeletedNamesAgain, writer.attempt == 1 { packs = world.packs(of: manifest(index, writer)) }
    next.put(packs, isRepeated: instance.latePuts)
    next.set(writer.at(At.partialOrManifest), index)
    body(next, .writer(index, "puts", packs))
  }

  private func putManifest(_ world: World, _ index: Int, _ writer: World.Writer, _ body: (World, Step) -> Void) {
    let name = manifest(index, writer)
    var next = world
    next.put(name, isRepeated: instance.latePuts)
    guard rules.checksBeforeSuccess else {
      acknowledge(&next, index, writer)
      return body(next, .writer(index, "puts its manifest and says success", name))
    }
    var listing = writer.at(At.firstListing)
    begin(rules.listsRecordsFirst ? .records : .packs, &listing, name, next)
    next.set(listing, index)
    body(next, .writer(index, "puts its manifest", name))
  }

  private enum Listing { case records, packs }

  /// Notes what the listing that begins now must show.
  private func begin(_ listing: Listing, _ writer: inout World.Writer, _ name: Names, _ world: World) {
    switch listing {
    case .records: writer.conflictAtStart = hasConflict(world, name) ? 1 : 0
    case .packs: writer.packsAtStart = UInt8(world.present & world.packs(of: name))
    }
  }

  func hasConflict(_ world: World, _ manifest: Names) -> Bool {
    rules.checksRecords && world.condemned & (manifest | world.packs(of: manifest)) != 0
  }

  private func endFirstListing(_ world: World, _ index: Int, _ writer: World.Writer, _ body: (World, Step) -> Void) {
    let name = manifest(index, writer)
    func go(isClean: Bool, _ text: StaticString) {
      guard isClean else { return refuse(world, index, writer, text, body) }
      var next = world
      var listing = writer.at(At.secondListing)
      listing.conflictAtStart = 0
      listing.packsAtStart = 0
      begin(rules.listsRecordsFirst ? .packs : .records, &listing, name, world)
      next.set(listing, index)
      body(next, .writer(index, text))
    }
    if rules.listsRecordsFirst {
      endRecords(world, writer, name) { go(isClean: $0, $1) }
    } else {
      endPacks(world, writer, name) { go(isClean: $0, $1) }
    }
  }

  private func endSecondListing(_ world: World, _ index: Int, _ writer: World.Writer, _ body: (World, Step) -> Void) {
    let name = manifest(index, writer)
    func decide(isClean: Bool, _ text: StaticString) {
      guard isClean else { return refuse(world, index, writer, text, body) }
      var next = world
      acknowledge(&next, index, writer)
      body(next, .writer(index, "finds nothing wrong and says success"))
    }
    if rules.listsRecordsFirst {
      endPacks(world, writer, name) { decide(isClean: $0, $1) }
    } else {
      endRecords(world, writer, name) { decide(isClean: $0, $1) }
    }
  }

  private func endRecords(_ world: World, _ writer: World.Writer, _ name: Names, _ seen: (Bool, StaticString) -> Void) {
    let before = writer.conflictAtStart != 0
    let now = hasConflict(world, name)
    if !before || !now || rules.mayReadStaleRecords { seen(true, "lists records: none names what it needs") }
    if before || now { seen(false, "lists records: conflict") }
  }

  private func endPacks(_ world: World, _ writer: World.Writer, _ name: Names, _ seen: (Bool, StaticString) -> Void) {
    guard rules.checksPacks else { return seen(true, "lists no packs") }
    let before = Names(writer.packsAtStart)
    let needed = world.packs(of: name)
    if (before | world.present).holds(needed) { seen(true, "lists packs: all are there") }
    if !(before & world.present).holds(needed) { seen(false, "lists packs: some are gone") }
  }

  private func refuse(
    _ world: World, _ index: Int, _ writer: World.Writer, _ text: StaticString, _ body: (World, Step) -> Void
  ) {
    var next = world
    var other = World.Writer()
    if writer.attempt == 0, writer.repairs == 0 {
      other.attempt = 1
    } else {
      other.step = At.end
    }
    next.set(other, index)
    body(next, .writer(index, text))
  }

  private func acknowledge(_ world: inout World, _ index: Int, _ writer: World.Writer) {
    if writer.repairs == 0 { world.promised |= 2 << UInt8(index) }
    world.set(World.Writer().at(At.end), index)
  }
}

extension World.Writer {
  func at(_ step: UInt8) -> Self {
    var other = self
    other.step = step
    return other
  }
}
