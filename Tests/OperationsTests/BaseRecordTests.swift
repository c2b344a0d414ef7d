import Repositories
import Testing

@testable import Operations

/// When new bases pay: by what versions have cost, and by what restoring the next one would decode.
@Suite struct BaseRecordTests {
  private typealias Base = BaseRecord.Base
  private static let length = 10_000

  /// An anchor that cost 1000, and perhaps a middle that cost 100, neither of which decodes more than it is long.
  private func record(middle: Bool = true) -> BaseRecord? {
    let anchor = after(nil, .anchor, cost: 1000)
    return middle ? after(anchor, .middle, cost: 100) : anchor
  }

  private func after(
    _ record: BaseRecord?, _ level: DeltaLevel, planned: DeltaLevel? = nil, cost: Int, length: Int = Self.length,
    decoded: Int? = nil,
    needs: VersionNeeds? = nil, isKept: Bool = true, lacksBases: Bool = false, meetsAnchor: Bool = false,
    isLackedElsewhere: Bool = false
  ) -> BaseRecord? {
    BaseRecord.after(
      record, level, planned: planned, Base(length: length, cost: cost, decoded: decoded ?? length), needs: needs,
      isKept: isKept, lacksBases: lacksBases, meetsAnchor: meetsAnchor, isLackedElsewhere: isLackedElsewhere,
      pageSize: 4096, method: "vacuum")
  }

  @Test func `an anchor is followed by a middle, that by leaves`() {
    #expect(record(middle: false)?.level(for: Self.length) == .middle)
    #expect(record()?.level(for: Self.length) == .leaf)
    #expect(after(record(), .leaf, cost: 5)?.level(for: Self.length) == .leaf)
  }

  /// The first leaf costs what any does; only what comes on top of that is excess.
  @Test(arguments: [99, 100, 101]) func `a new middle is made when leaves have cost as much on top as a middle does`(
    excess: Int
  ) {
    var record = record()
    for onTop in [0, 30, 0, excess - 30] {
      #expect(record?.level(for: Self.length) == .leaf)
      record = after(record, .leaf, cost: 700 + onTop)
    }
    #expect(record?.excessOfLeaves == excess)
    #expect(record?.level(for: Self.length) == (excess < 100 ? .leaf : .middle))
    // Leaves on the new one begin a fresh account; the middles have theirs.
    record = after(record, .middle, cost: 120)
    #expect(record?.excessOfLeaves == 0 && record?.firstLeafCost == nil && record?.excessOfMiddles == 20)
    #expect(record?.level(for: Self.length) == .leaf)
  }

  @Test func `a leaf that is cheaper than the first takes nothing back`() {
    var record = record()
    for cost in [50, 110, 1, 1, 89] { record = after(record, .leaf, cost: cost) }
    #expect(record?.excessOfLeaves == 99)
    #expect(record?.level(for: Self.length) == .leaf)
    #expect(after(record, .leaf, cost: 51)?.level(for: Self.length) == .middle)
  }

  @Test(arguments: [999, 1000, 1001])
  func `a new anchor is made when middles have cost as much on top as an anchor does`(excess: Int) {
    var record = record()
    for onTop in [600, 0, excess - 600] {
      #expect(record?.level(for: Self.length) == .leaf)
      record = after(record, .middle, cost: 100 + onTop)
    }
    #expect(record?.excessOfMiddles == excess)
    #expect(record?.level(for: Self.length) == (excess < 1000 ? .leaf : .anchor))
    let anew = after(record, .anchor, cost: 1000)
    #expect(anew?.excessOfMiddles == 0 && anew?.middle == nil && anew?.firstMiddleCost == nil)
    #expect(anew?.level(for: Self.length) == .middle)
  }

  @Test func `a new anchor is made when a middle would decode more than three times its length`() {
    // The anchor's 10,000, and its own.
    #expect(record(middle: false)?.level(for: 5000) == .middle)
    #expect(record(middle: false)?.level(for: 4999) == .anchor)
    #expect(record()?.level(for: 5000) == .leaf)
    #expect(record()?.level(for: 4999) == .anchor)
  }

  /// By what both were planned for: a copy that is being made is taken for as long as its source.
  @Test(arguments: [10_000, 1000]) func `a new anchor is made of what is four times as long`(length: Int) {
    let planned = 10_000
    let anchor = BaseRecord.after(
      nil, .anchor, Base(length: length, cost: 1000, decoded: length, plannedLength: planned), needs: nil, isKept: true,
      pageSize: 4096, method: "vacuum")
    #expect(anchor?.level(for: 39_999) == .middle)
    #expect(anchor?.level(for: 40_000) == .anchor)
    let middle = after(anchor, .middle, cost: 100, length: length)
    #expect(middle?.level(for: 39_999) == .leaf)
    #expect(middle?.level(for: 40_000) == .anchor && middle?.leafUpTo(for: 40_000) == 40_000 / 64)
    // As in the records of older programs.
    #expect(record()?.level(for: 40_000) == .leaf)
  }

  @Test func `a new middle is made when a leaf would decode more than three times its length`() {
    // Such a middle decodes the anchor and as much of its own; the leaf, as much again.
    let anchor = record(middle: false)
    #expect(after(anchor, .middle, cost: 100, decoded: 20_000)?.level(for: Self.length) == .leaf)
    #expect(after(anchor, .middle, cost: 100, decoded: 20_001)?.level(for: Self.length) == .middle)
  }

  /// The middle cost 400,000 and its first leaf 100,000: another one stores the difference on top of what is there.
  @Test(arguments: [17_700_000, 17_700_001])
  func `an anchor takes the place of a middle that would need too many packs`(stored: Int) {
    let length = 20_000_000
    let anchor = after(nil, .anchor, cost: 9_000_000, length: length)
    let middle = after(anchor, .middle, cost: 400_000, length: length)
    let first = after(middle, .leaf, cost: 100_000, length: length)
    let needs = VersionNeeds(decoded: 30_000_000, stored: stored, whole: 10_000_000)
    let last = after(first, .leaf, cost: 500_000, length: length, needs: needs)
    #expect(needs.areModest(for: length))
    #expect(last?.level(for: length) == (stored == 17_700_000 ? .middle : .anchor))
    // While a leaf does, nothing is foreseen.
    #expect(after(first, .leaf, cost: 499_999, length: length, needs: needs)?.level(for: length) == .leaf)
    // As in the records of older programs.
    #expect(after(first, .leaf, cost: 500_000, length: length)?.level(for: length) == .middle)
  }

  /// The middle decodes 16,000 of 10,000, the leaves more and more.
  @Test(arguments: [25_000, 28_000]) func `a leaf that would decode too much with all before it stands alone`(
    second: Int
  ) {
    let middle = after(record(middle: false), .middle, cost: 100, decoded: 16_000)
    let first = after(middle, .leaf, cost: 50, decoded: 22_000)
    #expect(first?.expectedGrowth == 3000 && first?.level(for: Self.length) == .leaf)
    let next = after(first, .leaf, cost: 50, decoded: second)
    #expect(next?.level(for: Self.length) == (second == 25_000 ? .leaf : .shoot))
    // What was tried in vain is not tried again at once.
    var shoot = after(next, .shoot, planned: .leaf, cost: 50, decoded: 22_000)
    #expect(shoot?.level(for: Self.length) == .shoot)
    shoot = after(shoot, .shoot, cost: 50, decoded: 22_000)
    #expect(shoot?.expectedGrowth == 7500 && shoot?.level(for: Self.length) == .leaf)
    // 3 x, but for the room that is left to small changes: 29,844.
    #expect(after(shoot, .shoot, cost: 50, decoded: 27_969)?.level(for: Self.length) == .leaf)
    #expect(after(shoot, .shoot, cost: 50, decoded: 27_970)?.level(for: Self.length) == .shoot)
  }

  /// The first leaf may be as dear as it likes: what a shoot stores again counts.
  @Test func `what is stored again and again makes a new middle pay`() {
    var record = after(after(record(), .leaf, cost: 5000), .leaf, cost: 30)
    #expect(record?.excessOfLeaves == 0 && record?.level(for: Self.length) == .leaf)
    record = after(record, .shoot, cost: 129)
    #expect(record?.excessOfLeaves == 99 && record?.level(for: Self.length) == .leaf)
    #expect(after(record, .shoot, cost: 31)?.level(for: Self.length) == .middle)
    #expect(after(record, .middle, cost: 100)?.leastLeafCost == nil)
  }

  @Test func `what stores next to nothing does not pay for a base`() {
    // While none is due nothing is asked.
    #expect(record()?.leafUpTo(for: Self.length) == nil)
    #expect(record(middle: false)?.leafUpTo(for: Self.length) == nil)
    let due = after(after(record(), .leaf, cost: 10), .leaf, cost: 110)
    #expect(due?.level(for: Self.length) == .middle && due?.leafUpTo(for: Self.length) == 10_000 / 64)
    // A pack would be stored of more, perhaps in vain.
    #expect(due?.leafUpTo(for: 1 << 40) == 4 << 20)
    let another = after(record(), .middle, cost: 1100)
    #expect(another?.level(for: Self.length) == .anchor && another?.leafUpTo(for: Self.length) == 10_000 / 64)
    // A leaf decodes what the version before it does, and a little more; others have left room for that.
    #expect(after(due, .leaf, cost: 1, decoded: 30_000)?.leafUpTo(for: Self.length) != nil)
    #expect(after(due, .leaf, cost: 1, decoded: 30_001)?.leafUpTo(for: Self.length) == nil)
  }

  /// Due at 100, and for once as much again nobody asks.
  @Test(arguments: [199, 200]) func `what small changes have cost in the end pays for what is due`(excess: Int) {
    // By leaves of which none costs as much as the middle.
    func spending(_ record: BaseRecord?) -> BaseRecord? {
      [0, 66, 66, excess - 132].reduce(record) { after($0, .leaf, cost: 10 + $1) }
    }
    let due = spending(record())
    #expect(due?.excessOfLeaves == excess && due?.excessOfSmallLeaves == excess)
    #expect(due?.level(for: Self.length) == .middle)
    #expect(due?.leafUpTo(for: 64_000) == (excess == 199 ? 1000 : 62))
    // An anchor is dearer; and a middle that rode in its manifest, and made no base, is not.
    let another = (0..<10).reduce(after(record(), .middle, cost: 1100)) { record, _ in spending(record) }
    #expect(another?.level(for: Self.length) == .anchor)
    #expect(another?.leafUpTo(for: 64_000) == (excess == 199 ? 1000 : 62))
    let rode = spending(after(record(middle: false), .middle, cost: 100, isKept: false))
    #expect(rode?.level(for: Self.length) == .middle)
    #expect(rode?.leafUpTo(for: 64_000) == (excess == 199 ? 1000 : 62))
  }

  /// Small changes of this length have up to 10,000 bytes. Another middle would cost what the great leaf has, and small ones
  /// pay when they have come to that twice over.
  @Test func `what a great change has cost is not for the small ones behind it to pay`() {
    let length = 640_000
    var last = after(record(), .leaf, cost: 10, length: length)
    last = after(last, .leaf, cost: 20_000, length: length)
    #expect(last?.excessOfLeaves == 19_990 && last?.level(for: length) == .middle)
    #expect(last?.leafUpTo(for: length) == 10_000)
    for count in 1...5 {
      last = after(last, .leaf, planned: .middle, cost: 10_000, length: length)
      #expect(last?.leafUpTo(for: length) == (count < 5 ? 10_000 : 625), "\(count)")
    }
    let anew = after(last, .middle, cost: 120, length: length)
    #expect(anew?.excessOfSmallLeaves == nil && anew?.dearestLeafCost == nil)
  }

  /// Its manifest may be longer than its pages, and companions come beside them.
  @Test func `a leaf in the place of a base counts as small whatever it cost`() {
    var last = after(after(record(), .leaf, cost: 10), .leaf, cost: 120)
    for limit in [1000, 62] {
      last = after(last, .leaf, planned: .middle, cost: 210)
      #expect(last?.level(for: 64_000) == .middle && last?.leafUpTo(for: 64_000) == limit)
    }
  }

  /// Every leaf was too dear, and every push a middle that no leaf could rest on.
  @Test(arguments: [DeltaLevel.leaf, .middle]) func `middles in vain come to an anchor`(planned: DeltaLevel) {
    var last = record()
    for count in 1...10 {
      last = after(last, .middle, planned: planned, cost: 100)
      let isDue = planned == .leaf && count == 10
      #expect(last?.level(for: Self.length) == (isDue ? .anchor : .leaf), "\(count)")
    }
    // With a leaf between them they have brought something.
    let rested = after(after(record(), .leaf, cost: 5), .middle, planned: planned, cost: 120)
    #expect(rested?.excessOfMiddles == 20)
  }

  @Test func `where another target has none of the bases the next one is made, once`() {
    var record = after(record(), .leaf, cost: 10, isLackedElsewhere: true)
    #expect(record?.level(for: 64_000) == .middle && record?.leafUpTo(for: 64_000) == 62)
    // The smallest changes go on as leaves, and that it is waited for is not forgotten.
    record = after(record, .leaf, cost: 10)
    #expect(record?.level(for: Self.length) == .middle)
    // That target has it now, or has stayed away: it says so when it comes.
    for isLacked in [true, false] {
      let made = after(record, .middle, cost: 120, isLackedElsewhere: isLacked)
      #expect(made?.level(for: Self.length) == .leaf && made?.isLackedElsewhere == nil)
    }
    #expect(after(record, .anchor, cost: 1000, isLackedElsewhere: true)?.isLackedElsewhere == nil)
  }

  /// Each further middle version would be stored whole where the anchor is lacked.
  @Test(arguments: [false, true]) func `an anchor that nobody has is due with the next middle`(isMet: Bool) {
    let dear = { after($0, .leaf, cost: 5 + 120, meetsAnchor: isMet) }
    for lacks in [true, false] {
      let middle = after(record(), .middle, cost: 110, lacksBases: lacks)
      let last = dear(after(middle, .leaf, cost: 5))
      #expect(last?.level(for: Self.length) == (lacks && !isMet ? .anchor : .middle))
      #expect(after(last, .anchor, cost: 1000)?.isAnchorLacked == nil)
    }
    // A target behind the first one is not the one that meets it.
    let elsewhere = after(record(), .middle, cost: 110, isLackedElsewhere: true)
    #expect(elsewhere?.level(for: Self.length) == .leaf)
    let last = dear(after(elsewhere, .leaf, cost: 5))
    #expect(last?.level(for: Self.length) == .anchor)
    #expect(after(last, .anchor, cost: 1000)?.isAnchorLackedElsewhere == nil)
  }

  @Test(arguments: [true, false]) func `a middle that had nothing to rest on brings no anchor about`(lacks: Bool) {
    let whole = after(record(), .middle, planned: .leaf, cost: 1100, lacksBases: lacks)
    #expect(whole?.level(for: Self.length) == (lacks ? .leaf : .anchor))
    #expect(whole?.middle?.cost == 1100)
  }

  @Test func `a small database needs what it likes`() {
    let length = 1_000_000
    let middle = after(after(nil, .anchor, cost: 500_000, length: length), .middle, cost: 1000, length: length)
    let needs = VersionNeeds(decoded: 2_000_000, stored: 9_000_000, whole: 400_000)
    let last = after(after(middle, .leaf, cost: 10, length: length), .leaf, cost: 1010, length: length, needs: needs)
    #expect(last?.level(for: length) == .middle)
  }

  @Test func `an anchor that was not kept is followed by another one`() {
    #expect(after(record(), .anchor, cost: 1000, isKept: false) == nil)
    // Deltas need a record, whatever their level.
    #expect(after(nil, .leaf, cost: 5, isKept: false) == nil)
  }
}
