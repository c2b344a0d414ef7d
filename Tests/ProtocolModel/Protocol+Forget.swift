/// Forgetting is one tombstone. Taking it back is an annotation, and then the same proof that a push gives: LIST gone, LIST
/// packs and versions; where the manifest is condemned or gone already, it is put again as a new revision and proved anew.
extension Protocol {
  private enum Forgets {
    static let beginning: UInt8 = 0
    static let listingRecords: UInt8 = 1
    static let listingPacks: UInt8 = 2
    static let end: UInt8 = 3
  }

  func forget(_ world: World, _ body: (World, Step) -> Void) {
    if instance.forgets > 1, world.takenBack != 0, world.tombstones == 1 { putTombstone(2, world, body) }
    guard instance.forgets > 0, world.tombstones == 0, world.takenBack == 0, world.promised & 1 != 0 else { return }
    guard !instance.hasOther else { return putTombstone(1, world, body) }
    proveOther(world, body)
  }

  private func putTombstone(_ bit: UInt8, _ world: World, _ body: (World, Step) -> Void) {
    var next = world
    next.tombstones |= bit
    if instance.latePuts, rules.unforgetDeletesTombstones { next.lateTombstones |= bit }
    next.promised &= ~1
    next.forgetting = World.Forgetting()
    next.forgetting.step = Forgets.end
    body(next, Step(.user, bit == 1 ? "forgets A: puts a tombstone" : "forgets A once more: puts another tombstone"))
  }

  /// What is to be left when A is forgotten is proved as a push proves it, by whoever forgets.
  private func proveOther(_ world: World, _ body: (World, Step) -> Void) {
    let forgetting = world.forgetting
    let name: Names = 1 << Names(forgetting.other)
    switch forgetting.step {
    case Forgets.beginning:
      (world.present & (Name.versions(0) | Name.versions(1))).forEachMember { found in
        guard rules.forgetChecksOther else { return putTombstone(1, world, body) }
        var next = world
        next.forgetting.step = Forgets.listingRecords
        next.forgetting.other = UInt8(found.trailingZeroBitCount)
        next.forgetting.conflictAtStart = hasConflict(world, found) ? 1 : 0
        body(next, Step(.user, "wants to forget A, and to keep", found))
      }
    case Forgets.listingRecords:
      let before = forgetting.conflictAtStart != 0
      let now = hasConflict(world, name)
      if !before || !now {
        var next = world
        next.forgetting.step = Forgets.listingPacks
        next.forgetting.conflictAtStart = 0
        next.forgetting.packsAtStart = UInt8(world.present & world.packs(of: name))
        body(next, Step(.user, "lists records: none names what is to be kept"))
      }
      if before || now { giveUpForgetting(world, body) }
    case Forgets.listingPacks:
      let before = Names(forgetting.packsAtStart)
      let needed = world.packs(of: name)
      if (before | world.present).holds(needed) { putTombstone(1, world, body) }
      if !(before & world.present).holds(needed) { giveUpForgetting(world, body) }
    default: break
    }
  }

  private func giveUpForgetting(_ world: World, _ body: (World, Step) -> Void) {
    var next = world
    next.forgetting = World.Forgetting()
    next.forgetting.step = Forgets.end
    body(next, Step(.user, "refuses to forget A: what is to be kept is not whole"))
  }
}

extension Protocol {
  private enum Unforgets {
    static let beginning: UInt8 = 0
    static let annotation: UInt8 = 1
    static let listingRecords: UInt8 = 2
    static let listingPacks: UInt8 = 3
    static let newRevision: UInt8 = 4
    static let listingRecordsAgain: UInt8 = 5
    static let listingPacksAgain: UInt8 = 6
    static let end: UInt8 = 7
  }

  func unforget(_ world: World, _ index: Int, _ body: (World, Step) -> Void) {
    let unforgetting = world.unforgetting(index)
    switch unforgetting.step {
    case Unforgets.beginning:
      guard world.tombstones != 0, index > 0 || world.takenBack == 0 else { return }
      if !rules.unforgetAnnotatesFirst {
        guard world.isWhole(Name.a0), world.condemned & (Name.a0 | Name.old) == 0 else { return }
      }
      go(world, index, body, "lists the tombstones of A") {
        $0.names = world.tombstones
        $0.step = Unforgets.annotation
      }
    case Unforgets.annotation: annotate(world, index, body)
    case Unforgets.listingRecords: endRecords(world, index, Name.a0, body)
    case Unforgets.listingPacks: endPacks(world, index, Name.a0, body)
    case Unforgets.newRevision:
      var next = world
      next.put(newRevision(index), isRepeated: instance.latePuts)
      if rules.unforgetChecksNewRevision {
        beginRecords(&next, index, newRevision(index), Unforgets.listingRecordsAgain)
      } else {
        succeed(&next, index)
      }
      body(next, Step(.unforget, "puts the manifest again", newRevision(index)))
    case Unforgets.listingRecordsAgain: endRecords(world, index, newRevision(index), body)
    case Unforgets.listingPacksAgain: endPacks(world, index, newRevision(index), body)
    default: break
    }
  }

  private func newRevision(_ index: Int) -> Names { index == 0 ? Name.a1 : Name.a2 }

  private func go(
    _ world: World, _ index: Int, _ body: (World, Step) -> Void, _ text: StaticString,
    _ change: (inout World.Unforgetting) -> Void
  ) {
    var next = world
    var unforgetting = world.unforgetting(index)
    change(&unforgetting)
    next.set(unforgetting, index)
    body(next, Step(.unforget, text))
  }

  private func annotate(_ world: World, _ index: Int, _ body: (World, Step) -> Void) {
    var next = world
    let names = world.unforgetting(index).names
    if rules.unforgetDeletesTombstones {
      next.tombstones &= ~names
    } else {
      next.takenBack |= 0b100 | (rules.unforgetGoesByClock ? 0 : names)
    }
    if rules.unforgetChecks, rules.unforgetAnnotatesFirst {
      beginRecords(&next, index, Name.a0, Unforgets.listingRecords)
    } else {
      succeed(&next, index)
    }
    let text: StaticString =
      rules.unforgetDeletesTombstones ? "deletes the tombstones" : "puts the annotation that takes the tombstones back"
    body(next, Step(.unforget, text))
  }

  private func beginRecords(_ world: inout World, _ index: Int, _ manifest: Names, _ step: UInt8) {
    var unforgetting = world.unforgetting(index)
    unforgetting.step = step
    unforgetting.seen = conflicts(world, manifest)
    world.set(unforgetting, index)
  }

  /// Bit 0: the pack is condemned; bit 1: the manifest is.
  private func conflicts(_ world: World, _ manifest: Names) -> UInt8 {
    let pack: UInt8 = world.condemned & Name.old != 0 ? 1 : 0
    return rules.unforgetMindsManifests && world.condemned & manifest != 0 ? pack | 2 : pack
  }

  /// Bit 0: the pack is there; bit 1: the manifest is.
  private func presence(_ world: World, _ manifest: Names) -> UInt8 {
    (world.present & Name.old != 0 ? 1 : 0) | (world.present & manifest != 0 ? 2 : 0)
  }

  private func endRecords(_ world: World, _ index: Int, _ manifest: Names, _ body: (World, Step) -> Void) {
    let begun = world.unforgetting(index).seen
    Names(begun ^ conflicts(world, manifest)).forEachSubset { some in
      let seen = begun ^ UInt8(some)
      go(world, index, body, Self.recordsSeen(seen)) {
        $0.seen = seen << 2 | presence(world, manifest) << 4
        $0.step += 1
      }
    }
  }

  private static func recordsSeen(_ seen: UInt8) -> StaticString {
    switch seen {
    case 0: "lists records: none names what A needs"
    case 1: "lists records: the pack is condemned"
    case 2: "lists records: the manifest is condemned"
    default: "lists records: pack and manifest are condemned"
    }
  }

  private func endPacks(_ world: World, _ index: Int, _ manifest: Names, _ body: (World, Step) -> Void) {
    let condemned = world.unforgetting(index).seen >> 2 & 3
    let begun = world.unforgetting(index).seen >> 4 & 3
    Names(begun ^ presence(world, manifest)).forEachSubset { some in
      let safe = (begun ^ UInt8(some)) & ~condemned
      var next = world
      switch safe {
      case 3:
        succeed(&next, index)
        body(next, Step(.unforget, "lists packs and versions: all is there, says success"))
      case 1 where manifest == Name.a0:
        go(world, index, body, "lists packs and versions: only the manifest is not safe") {
          $0.seen = 0
          $0.step = Unforgets.newRevision
        }
      default:
        next.set(World.Unforgetting(step: Unforgets.end), index)
        if rules.unforgetForgetsAgain { next.tombstones |= 2 }
        body(next, Step(.unforget, "lists packs and versions: a prune has taken A, says failure"))
      }
    }
  }

  /// From here on A must be there, unless it was forgotten once more meanwhile.
  private func succeed(_ world: inout World, _ index: Int) {
    if world.tombstones & ~world.unforgetting(index).names == 0 { world.promised |= 1 }
    world.set(World.Unforgetting(step: Unforgets.end), index)
  }
}
