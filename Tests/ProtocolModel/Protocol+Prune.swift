/// Candidates → condemned record → LIST versions, tombstones, annotations again → LIST gone, packs → delete what the record
/// names and is still unreferenced or forgotten, manifests before packs.
extension Protocol {
  private enum At {
    static let beginning: UInt8 = 0
    static let record: UInt8 = 1
    static let listingVersions: UInt8 = 2
    static let listingPacks: UInt8 = 3
    static let deleting: UInt8 = 4
    static let end: UInt8 = 5
  }

  /// What a prune believes is there.
  struct View {
    /// Manifests and packs.
    var listed: Names
    var facts: UInt8
    var gone: Names
  }

  func prune(_ world: World, _ index: Int, _ body: (World, Step) -> Void) {
    let pruner = world.pruner(index)
    switch pruner.step {
    case At.beginning: chooseCandidates(world, index, body)
    case At.record: putRecord(world, index, pruner, body)
    case At.listingVersions: endListingVersions(world, index, pruner, body)
    case At.listingPacks: endListingPacks(world, index, pruner, body)
    case At.deleting: delete(world, index, pruner, body)
    default: break
    }
    if rules.dropsRecordsOfOthers, pruner.step == At.deleting, world.record(1 - index) != 0 {
      var next = world
      next.setRecord(0, 1 - index)
      body(next, .pruner(index, "drops the other's record as stale"))
    }
  }

  /// Manifests that may go, if a view is true: forgotten, superseded, or partial and overtaken.
  func deletable(_ view: View, _ world: World) -> Names {
    var found: Names = 0
    let tombstones = view.facts & 3
    let takenBack = view.facts & 0b1_0000 != 0 ? view.facts >> 2 & 3 : 0
    if tombstones & ~takenBack != 0 { found |= view.listed & Name.a }
    for writer in 0..<instance.writers where view.listed & Name.versions(writer) != 0 {
      found |= view.listed & Name.partial(writer)
    }
    guard instance.supersedes else { return found }
    func supersede(_ low: Names, _ high: Names) {
      if view.listed & low != 0, isProved(high, view, world) { found |= low }
    }
    supersede(Name.a0, Name.a1)
    supersede(Name.a0, Name.a2)
    supersede(Name.a1, Name.a2)
    for writer in 0..<instance.writers { supersede(Name.version(writer, 0), Name.version(writer, 1)) }
    if rules.supersession == .provedOfAnyCore {
      for attempt in 0..<2 where isProved(Name.version(1, attempt), view, world) {
        found |= view.listed & Name.versions(0)
      }
    }
    return found
  }

  private func isProved(_ manifest: Names, _ view: View, _ world: World) -> Bool {
    guard view.listed & manifest != 0 else { return false }
    if rules.supersession == .believed { return true }
    let packs = world.packs(of: manifest)
    return view.listed.holds(packs) && view.gone & (packs | manifest) == 0
  }

  /// Everything that a view shows and nothing needs.
  private func superfluous(_ view: View, _ world: World) -> Names {
    let deletable = deletable(view, world)
    var needed: Names = 0
    var rest = view.listed & Name.manifests & ~deletable
    while rest != 0 {
      needed |= world.packs(of: rest & (~rest &+ 1))
      rest &= rest &- 1
    }
    return deletable | view.listed & Name.packs & ~needed
  }

  private func chooseCandidates(_ world: World, _ index: Int, _ body: (World, Step) -> Void) {
    let view = View(listed: world.present, facts: world.facts, gone: world.condemned)
    let candidates = instance.carelessCandidates ? world.present : superfluous(view, world)
    guard candidates & ~world.record(index) != 0 || instance.hasOtherGarbage else { return }
    var pruner = World.Pruner()
    pruner.step = At.record
    pruner.names = candidates
    if rules.supersession == .provedTooEarly {
      pruner.gone = world.condemned
      pruner.listed = world.present & Name.packs
    }
    var next = world
    next.set(pruner, index)
    body(next, .pruner(index, "lists all and chooses", candidates))
  }

  private func putRecord(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    var next = world
    var listing = pruner
    let names = rules.recordNamesManifests ? pruner.names : pruner.names & Name.packs
    next.setRecord(names | world.record(index), index)
    if !rules.listsAgain {
      listing.step = At.deleting
      listing.gone = 0
    } else {
      listing.step = At.listingVersions
      listing.facts = world.facts
      listing.listed |= world.present & Name.manifests
      if rules.sweepsEarlierRecords { listing.names |= next.condemned }
      if rules.supersession == .provedByEarlierRecords { listing.gone = next.condemned }
    }
    next.set(listing, index)
    body(next, .pruner(index, "puts its condemned record of", names))
  }

  private func endListingVersions(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    if rules.fossils { return sweepFossils(world, index, pruner, body) }
    let begun = pruner.listed & Name.manifests
    let changed = (begun ^ world.present) & Name.manifests
    // What came or went meanwhile may be listed or not: manifests, tombstones, and the annotation as a whole.
    let moved = Names((pruner.facts ^ world.facts) & 3)
    let isAnnotated = (pruner.facts ^ world.facts) & 0b1_0000 != 0
    changed.forEachSubset { some in
      moved.forEachSubset { tombstones in
        var listing = pruner
        listing.listed = pruner.listed & Name.packs | begun ^ some
        listing.facts = pruner.facts ^ UInt8(tombstones)
        listTheRest(world, index, listing, body)
        if isAnnotated {
          listing.facts = world.facts & ~3 | listing.facts & 3
          listTheRest(world, index, listing, body)
        }
      }
    }
    guard instance.shortListings else { return }
    (begun & world.present).forEachMember { name in
      var listing = pruner
      if rules.toleratesShortListings {
        listing.listed = pruner.listed & ~name
        listTheRest(world, index, listing, body)
      } else {
        var next = world
        listing = World.Pruner()
        listing.step = At.end
        next.set(listing, index)
        body(next, .pruner(index, "is not shown this and refuses", name))
      }
    }
  }

  /// The second half of the re-list begins.
  private func listTheRest(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    var next = world
    var listing = pruner
    listing.step = At.listingPacks
    if rules.supersession != .provedTooEarly {
      if rules.supersession != .provedByEarlierRecords { listing.gone = world.condemned }
      listing.listed |= world.present & Name.packs
    }
    next.set(listing, index)
    body(
      next, .pruner(index, "lists versions, tombstones and annotations again: sees", listing.listed & Name.manifests))
  }

  private func endListingPacks(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    let changed = rules.supersession == .provedTooEarly ? 0 : (pruner.listed ^ world.present) & Name.packs
    let came = rules.supersession == .proved ? world.condemned & ~pruner.gone : 0
    changed.forEachSubset { some in
      var view = View(listed: pruner.listed ^ some, facts: pruner.facts, gone: pruner.gone)
      let named = rules.sweepsLaterRecords ? pruner.names | world.record(1 - index) : pruner.names
      sweep(world, index, named & superfluous(view, world), body)
      guard came != 0 else { return }
      view.gone |= came
      sweep(world, index, named & superfluous(view, world), body)
    }
  }

  private func sweepFossils(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    guard world.promised & ~1 != 0 else { return }
    let view = View(listed: world.present, facts: world.facts, gone: 0)
    sweep(world, index, pruner.names & superfluous(view, world), body)
  }

  private func sweep(_ world: World, _ index: Int, _ names: Names, _ body: (World, Step) -> Void) {
    var next = world
    var pruner = World.Pruner()
    pruner.step = At.deleting
    pruner.names = names
    if rules.records == .shrunkToDeleted { next.setRecord(names, index) }
    if names == 0 { finish(&next, index) } else { next.set(pruner, index) }
    body(next, .pruner(index, "will delete", names))
  }

  private func delete(_ world: World, _ index: Int, _ pruner: World.Pruner, _ body: (World, Step) -> Void) {
    let manifests = pruner.names & Name.manifests
    let from = manifests != 0 ? manifests : pruner.names
    let name = from & (~from &+ 1)
    var next = world
    var rest = pruner
    rest.names &= ~name
    if rest.names == 0 { finish(&next, index) } else { next.set(rest, index) }
    if rules.records == .droppedWithDeletesInFlight {
      var late = next
      late.lateDeletes |= name
      body(late, .pruner(index, "deletes, and the answer does not come", name))
    }
    next.present &= ~name
    if instance.lateDeletes { next.lateDeletes |= name }
    body(next, .pruner(index, "deletes", name))
  }

  private func finish(_ world: inout World, _ index: Int) {
    var pruner = World.Pruner()
    world.countPrune(index)
    pruner.step = world.prunes(index) < instance.prunes ? At.beginning : At.end
    world.set(pruner, index)
    switch rules.records {
    case .droppedAfterDeletes, .droppedWithDeletesInFlight: world.setRecord(0, index)
    case .keptForever, .shrunkToDeleted: break
    }
  }
}
