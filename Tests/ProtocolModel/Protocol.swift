/// Push, forget, unforget and prune of one chain at one target: every way in which their requests can be interleaved.
///
/// A request is one step, or two where it is a listing: each object is listed as it was at its beginning or at its end, in any
/// mixture, so that a listing is no snapshot and holds for certain only what was there all the time. Whoever has not taken
/// his next step may never take it (a crash) or take it days later. There are no clocks.
struct Protocol: Model {
  typealias State = World
  var rules: Rules
  var instance: Instance
  /// States that differ only in who is called writer 0 or pruner 0 count as one. Not where a trace is wanted.
  var usesSymmetry = false

  var start: World { World() }

  func forEachSuccessor(of world: World, _ body: (World, Step) -> Void) {
    deliver(world, body)
    forget(world, body)
    for index in 0..<instance.unforgets { unforget(world, index, body) }
    for index in 0..<instance.writers { write(world, index, body) }
    for index in 0..<instance.pruners { prune(world, index, body) }
  }

  /// What the network still carries takes effect.
  private func deliver(_ world: World, _ body: (World, Step) -> Void) {
    world.latePuts.forEachMember { name in
      var next = world
      next.latePuts &= ~name
      next.present |= name
      body(next, Step(.network, "delivers a put once more", name))
    }
    world.lateDeletes.forEachMember { name in
      var next = world
      next.lateDeletes &= ~name
      next.present &= ~name
      body(next, Step(.network, "delivers a delete", name))
    }
    if world.lateTombstones != 0 {
      var next = world
      next.tombstones |= next.lateTombstones
      next.lateTombstones = 0
      body(next, Step(.network, "delivers the put of a tombstone once more"))
    }
  }

  /// What somebody was promised and nobody can restore any more.
  func complaint(about world: World) -> String? {
    if world.promised & 1 != 0, !isReadable(Name.a, in: world) {
      return "version A, acknowledged and not forgotten, is lost"
    }
    for writer in 0..<instance.writers where world.promised & (2 << UInt8(writer)) != 0 {
      if !isReadable(Name.versions(writer), in: world) { return "the acknowledged version of writer \(writer) is lost" }
    }
    if !instance.hasOther, world.promised & 1 == 0, !world.hasWhole(Name.a | Name.versions(0) | Name.versions(1)) {
      return "the chain has no version left that can be restored"
    }
    return nil
  }

  private func isReadable(_ revisions: Names, in world: World) -> Bool {
    guard rules.readsHighestRevision else { return world.hasWhole(revisions) }
    let there = revisions & world.present
    return there != 0 && world.isWhole(1 << Names(15 - there.leadingZeroBitCount))
  }

  func canonical(_ world: World) -> World {
    guard usesSymmetry else { return world }
    var world = world
    if instance.pruners == 2, world.prunersAreSwapped { world.swapPruners() }
    if instance.writers == 2, !instance.repairs, !instance.partials {
      let other = world.mirrored(isSorted: instance.pruners == 2)
      return world.precedes(other) ? world : other
    }
    return world
  }
}

extension World {
  fileprivate var prunersAreSwapped: Bool {
    func key(_ pruner: Pruner, _ record: Names, _ prunes: UInt8) -> (UInt64, UInt64) {
      let words = UInt64(pruner.names) << 32 | UInt64(pruner.listed) << 16 | UInt64(pruner.gone)
      return (UInt64(pruner.step) << 56 | UInt64(pruner.facts) << 48 | words, UInt64(record) << 8 | UInt64(prunes))
    }
    return key(pruner0, record0, prunes0) > key(pruner1, record1, prunes1)
  }

  fileprivate mutating func swapPruners() {
    swap(&pruner0, &pruner1)
    swap(&record0, &record1)
    swap(&prunes0, &prunes1)
  }

  fileprivate func mirrored(isSorted: Bool) -> World {
    var other = self
    other.present = Name.mirrored(present)
    other.latePuts = Name.mirrored(latePuts)
    other.lateDeletes = Name.mirrored(lateDeletes)
    other.record0 = Name.mirrored(record0)
    other.record1 = Name.mirrored(record1)
    other.pruner0 = pruner0.mirrored
    other.pruner1 = pruner1.mirrored
    other.refs00 = UInt8(Name.mirrored(Names(refs10)))
    other.refs01 = UInt8(Name.mirrored(Names(refs11)))
    other.refs10 = UInt8(Name.mirrored(Names(refs00)))
    other.refs11 = UInt8(Name.mirrored(Names(refs01)))
    other.writer0 = writer1.mirrored
    other.writer1 = writer0.mirrored
    other.forgetting.other = forgetting.other == 0 ? 0 : ((forgetting.other - 8) ^ 2) + 8
    other.forgetting.packsAtStart = UInt8(Name.mirrored(Names(forgetting.packsAtStart)))
    other.promised = promised & 1 | (promised & 2) << 1 | (promised & 4) >> 1
    if isSorted, other.prunersAreSwapped { other.swapPruners() }
    return other
  }

  fileprivate func precedes(_ other: World) -> Bool {
    withUnsafeBytes(of: self) { mine in
      withUnsafeBytes(of: other) { theirs in
        for offset in stride(from: 0, to: mine.count, by: 8) {
          let left = mine.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          let right = theirs.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          if left != right { return left < right }
        }
        return true
      }
    }
  }
}

extension World.Pruner {
  fileprivate var mirrored: Self {
    var other = self
    other.names = Name.mirrored(names)
    other.listed = Name.mirrored(listed)
    other.gone = Name.mirrored(gone)
    return other
  }
}

extension World.Writer {
  fileprivate var mirrored: Self {
    var other = self
    other.packsAtStart = UInt8(Name.mirrored(Names(packsAtStart)))
    return other
  }
}
