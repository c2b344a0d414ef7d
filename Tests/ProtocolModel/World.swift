/// Everything that one moment consists of: the target, what the network still carries, and how far everybody is.
///
/// Only numbers without gaps between them, 64 bytes in all: states are compared and hashed as they lie in memory.
struct World: BitwiseCopyable {
  /// Objects that are there.
  var present: Names = Name.old | Name.a0
  /// Puts and deletes that were answered and will take effect once more, whenever it hurts most.
  var latePuts: Names = 0
  var lateDeletes: Names = 0
  /// What the condemned record of each pruner names; nothing: there is none.
  var record0: Names = 0
  var record1: Names = 0
  var pruner0 = Pruner()
  var pruner1 = Pruner()
  /// Packs that the manifests of writer w's attempt a refer to.
  var refs00: UInt8 = 0
  var refs01: UInt8 = 0
  var refs10: UInt8 = 0
  var refs11: UInt8 = 0
  var writer0 = Writer()
  var writer1 = Writer()
  /// Revision 2 of A: the old pack where an unforget wrote it, the new one where a repair did.
  var refsA2 = UInt8(Name.old)
  /// Prunes that each pruner has ended.
  var prunes0: UInt8 = 0
  var prunes1: UInt8 = 0
  var unused0: UInt8 = 0
  var unforgetting0 = Unforgetting()
  var unforgetting1 = Unforgetting()
  var forgetting = Forgetting()
  /// Tombstones of A: bit 0 the first one, bit 1 the second.
  var tombstones: UInt8 = 0
  var lateTombstones: UInt8 = 0
  /// The annotation that takes A's tombstones back: bit 2 it is there, bits 0 and 1 which it names.
  var takenBack: UInt8 = 0
  /// What somebody relies on: bit 0 A, bit 1 and 2 the versions of writers 0 and 1.
  var promised: UInt8 = 1
  var unused1: UInt16 = 0

  struct Pruner: BitwiseCopyable {
    var step: UInt8 = 0
    /// What its re-list of tombstones and annotations showed, as in `World.facts`.
    var facts: UInt8 = 0
    /// Candidates; later, what it will delete.
    var names: Names = 0
    var listed: Names = 0
    var gone: Names = 0
  }

  struct Writer: BitwiseCopyable {
    var step: UInt8 = 0
    var attempt: UInt8 = 0
    /// It writes A's content anew as revision 2 instead of a version of its own.
    var repairs: UInt8 = 0
    /// The listing that is under way had a conflict to show when it began.
    var conflictAtStart: UInt8 = 0
    /// Of the packs it refers to, those that were there when the listing began.
    var packsAtStart: UInt8 = 0
    var unused: UInt8 = 0
  }

  struct Unforgetting: BitwiseCopyable {
    var step: UInt8 = 0
    var names: UInt8 = 0
    /// Bits 0 and 1: pack, manifest condemned when the listing began. 2 and 3: the same, as listed. 4 and 5: there when it began.
    var seen: UInt8 = 0
    var unused: UInt8 = 0
  }

  struct Forgetting: BitwiseCopyable {
    var step: UInt8 = 0
    /// Which manifest it relies on instead, as a bit number.
    var other: UInt8 = 0
    var conflictAtStart: UInt8 = 0
    var packsAtStart: UInt8 = 0
  }
}

extension World {
  var condemned: Names { record0 | record1 }
  var facts: UInt8 { tombstones | takenBack << 2 }

  func pruner(_ index: Int) -> Pruner { index == 0 ? pruner0 : pruner1 }
  func record(_ index: Int) -> Names { index == 0 ? record0 : record1 }
  func prunes(_ index: Int) -> UInt8 { index == 0 ? prunes0 : prunes1 }
  func unforgetting(_ index: Int) -> Unforgetting { index == 0 ? unforgetting0 : unforgetting1 }
  func writer(_ index: Int) -> Writer { index == 0 ? writer0 : writer1 }

  mutating func set(_ pruner: Pruner, _ index: Int) { if index == 0 { pruner0 = pruner } else { pruner1 = pruner } }
  mutating func setRecord(_ names: Names, _ index: Int) { if index == 0 { record0 = names } else { record1 = names } }
  mutating func set(_ unforgetting: Unforgetting, _ index: Int) {
    if index == 0 { unforgetting0 = unforgetting } else { unforgetting1 = unforgetting }
  }
  mutating func countPrune(_ index: Int) { if index == 0 { prunes0 += 1 } else { prunes1 += 1 } }
  mutating func set(_ writer: Writer, _ index: Int) { if index == 0 { writer0 = writer } else { writer1 = writer } }

  /// The packs that a manifest refers to.
  func packs(of manifest: Names) -> Names {
    switch manifest {
    case Name.a0, Name.a1: Name.old
    case Name.a2: Names(refsA2)
    case Name.partial(0): Name.pack(0, 0)
    case Name.version(0, 0): Names(refs00)
    case Name.version(0, 1): Names(refs01)
    case Name.version(1, 0): Names(refs10)
    case Name.version(1, 1): Names(refs11)
    case Name.partial(1): Name.pack(1, 0)
    default: 0
    }
  }

  mutating func setPacks(_ packs: Names, writer: Int, attempt: Int) {
    switch (writer, attempt) {
    case (0, 0): refs00 = UInt8(packs)
    case (0, _): refs01 = UInt8(packs)
    case (_, 0): refs10 = UInt8(packs)
    default: refs11 = UInt8(packs)
    }
  }

  /// The manifest and every pack of it are there.
  func isWhole(_ manifest: Names) -> Bool { present & manifest != 0 && present.holds(packs(of: manifest)) }

  func hasWhole(_ manifests: Names) -> Bool {
    var rest = manifests & present
    while rest != 0 {
      if isWhole(rest & (~rest &+ 1)) { return true }
      rest &= rest &- 1
    }
    return false
  }

  mutating func put(_ names: Names, isRepeated: Bool) {
    present |= names
    if isRepeated { latePuts |= names }
  }
}
