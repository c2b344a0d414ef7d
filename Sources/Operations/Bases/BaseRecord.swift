import FoundationEssentials
import Repositories

/// What the bases of a database cost, and by that when new ones pay: levels, not chains (`Docs/Decisions/0005`).
///
/// A leaf rests on the middle version, a middle on the anchor. Both grow dearer with their distance. What leaves before it
/// have stored a leaf refers to, until all of them together would decode too much; then one stores it anew (a shoot).
/// A new middle is made when the leaves together have cost so much more than they would on a fresh one as a middle costs;
/// a new anchor in the same way when the middles have. That is hardly ever worse than twice the best that one could have
/// done knowing the future. A middle that would need too many packs is not begun: what it stored before that shows would
/// be in vain.
struct BaseRecord: Codable, Equatable, Sendable {
  /// Bytes.
  struct Base: Codable, Equatable, Sendable {
    var length: Int
    /// What its push added at the target.
    var cost: Int
    /// What restoring it decodes.
    var decoded: Int
    /// The length that it was planned for: of a copy that was still being made that is its source's, free pages included.
    /// `nil` in records of older programs.
    var plannedLength: Int?
  }

  var pageSize: Int
  var method: String
  var anchor: Base
  var middle: Base?
  var firstMiddleCost: Int?
  /// What middles have cost beyond the first.
  var excessOfMiddles = 0
  var firstLeafCost: Int?
  /// What leaves on the middle have cost beyond the first.
  var excessOfLeaves = 0
  /// What small ones among them have: they alone show that nothing but small changes comes. `nil` without one, and in
  /// records of older programs.
  var excessOfSmallLeaves: Int?
  /// The least that a leaf on the middle has cost; `nil` without one, and in records of older programs.
  var leastLeafCost: Int?
  /// The most, likewise: the next middle stores that, too.
  var dearestLeafCost: Int?
  /// What restoring the latest version decodes, and how much more the next leaf may decode, at a guess.
  var latestDecoded: Int?
  var expectedGrowth: Int?
  /// What the latest version needs; `nil` when it is not known, as in records of older programs.
  var needs: VersionNeeds?
  /// A target behind the first one had none of the bases: the next is made soon, for both to have it. Once: `nil` when it
  /// is made, and in records of older programs.
  var isLackedElsewhere: Bool?
  /// The target of the latest middle version had no anchor for it to rest on, and none since has had one: where none does
  /// until the next is due, nobody uses the anchor any more. `nil` in records of older programs, as below.
  var isAnchorLacked: Bool?
  /// So it was at a target behind the first one: all of them have the next anchor.
  var isAnchorLackedElsewhere: Bool?

  /// What the next version of so many bytes should be.
  func level(for length: Int) -> DeltaLevel {
    guard excessOfMiddles < anchor.cost, !isOutgrown(by: length), anchor.decoded + length <= 3 * length else {
      return .anchor
    }
    guard let middle else { return .middle }
    // A leaf of the middle's kind decodes what the middle does, and its own frames.
    let own = max(0, middle.decoded - anchor.length)
    guard isLackedElsewhere != true, excessOfLeaves < middle.cost, middle.decoded + own <= 3 * length else {
      // Where the anchor is lacked another middle version would be stored whole, and so would all that come after it.
      let isAnchorOfUse = isAnchorLacked != true && isAnchorLackedElsewhere != true
      return isAnchorOfUse && needs(ofMiddleAfter: middle)?.areModest(for: length) != false ? .middle : .anchor
    }
    let most = 3 * length - DeltaPlan.roomForSmallChanges(after: length)
    return (latestDecoded ?? 0) + (expectedGrowth ?? 0) <= most ? .leaf : .shoot
  }

  /// Most pages of what is four times as long have no base: all that changes of them would be stored whole, by one version
  /// after the other. A leaf that made it so long would hide that: those after it are cheaper.
  private func isOutgrown(by length: Int) -> Bool { anchor.plannedLength.map { length >= 4 * $0 } ?? false }

  /// Where a base or a shoot is due: up to how many bytes of new pages a version of this length is a leaf all the same.
  /// What costs next to nothing as a leaf does not pay for those, and the next great change will. Where none comes, and small
  /// ones have cost what is due twice over, only the smallest go on, whatever a great one before them has cost: that it made
  /// a base due is no reason for them to pay. So where a target waits for a base, and stores even those whole. `nil` where
  /// it would decode too much; and for the first middle on an anchor, which costs no more than a leaf would.
  func leafUpTo(for length: Int) -> Int? {
    let due = level(for: length)
    guard due < .leaf, let firstMiddleCost, let latestDecoded, latestDecoded <= 3 * length else { return nil }
    let small = DeltaPlan.smallChange(of: length)
    let price = due == .anchor ? anchor.cost : max(middle?.cost ?? firstMiddleCost, dearestLeafCost ?? 0)
    return (excessOfSmallLeaves ?? 0) < 2 * price && isLackedElsewhere != true ? small : small / 16
  }

  /// About what another middle would need. It stores what this one did, and by how much leaves have grown; packs of all
  /// of them mostly hold some whole frame that it refers to.
  private func needs(ofMiddleAfter middle: Base) -> VersionNeeds? {
    guard var needs, let firstLeafCost else { return nil }
    needs.decoded = middle.decoded
    needs.stored += max(0, middle.cost - firstLeafCost)
    return needs
  }

  /// Takes note of a version.
  /// - Parameters:
  ///   - planned: the level that it was to have; by default the one that it has.
  ///   - isKept: it is a base from now on: with its image, or, where a middle version's has no room, by its units alone.
  ///   - lacksBases: there was nothing at the target that it could have rested on.
  ///   - meetsAnchor: the anchor is at the target.
  ///   - isLackedElsewhere: another target had none of the bases.
  static func after(
    _ before: BaseRecord?, _ level: DeltaLevel, planned: DeltaLevel? = nil, _ base: Base, needs: VersionNeeds?,
    isKept: Bool, lacksBases: Bool = false, meetsAnchor: Bool = false, isLackedElsewhere: Bool = false, pageSize: Int,
    method: String
  ) -> BaseRecord? {
    guard level > .anchor, var record = before else {
      return isKept
        ? BaseRecord(pageSize: pageSize, method: method, anchor: base, latestDecoded: base.decoded, needs: needs) : nil
    }
    record.needs = needs
    record.expectedGrowth = record.expectedGrowth(after: level, planned: planned ?? level, base)
    record.latestDecoded = base.decoded
    if meetsAnchor { record.isAnchorLacked = nil }
    if level == .middle {
      // Right after another one that no leaf could rest on, it has brought nothing.
      let isInVain = (planned ?? level) > .middle && record.middle != nil && record.firstLeafCost == nil
      // With nothing to rest on it stands by itself, and tells nothing of what middles on the anchor cost.
      if !lacksBases {
        record.excessOfMiddles += isInVain ? base.cost : max(0, base.cost - (record.firstMiddleCost ?? base.cost))
      }
      record.firstMiddleCost = record.firstMiddleCost ?? base.cost
      // Leaves of a middle that is not at hand would rest on the one before, at a fresh account.
      record.middle = isKept ? base : nil
      record.firstLeafCost = nil
      record.leastLeafCost = nil
      record.dearestLeafCost = nil
      record.excessOfLeaves = 0
      record.excessOfSmallLeaves = nil
      record.isLackedElsewhere = nil
      record.isAnchorLacked = lacksBases ? true : nil
      if isLackedElsewhere { record.isAnchorLackedElsewhere = true }
    } else {
      if isLackedElsewhere { record.isLackedElsewhere = true }
      let excess = max(0, base.cost - record.ownCost(of: level, base.cost))
      record.excessOfLeaves += excess
      // In the place of what is due only a small one is a leaf, whatever its manifest or companions add.
      let isInItsPlace = level == .leaf && (planned ?? level) < .leaf
      if isInItsPlace || base.cost <= DeltaPlan.smallChange(of: base.length) {
        record.excessOfSmallLeaves = (record.excessOfSmallLeaves ?? 0) + excess
      }
      record.firstLeafCost = record.firstLeafCost ?? base.cost
      record.leastLeafCost = min(record.leastLeafCost ?? base.cost, base.cost)
      record.dearestLeafCost = max(record.dearestLeafCost ?? base.cost, base.cost)
    }
    return record
  }

  /// What a leaf would cost on a middle made a moment before, at a guess: what the first one has. Of one that stores anew
  /// what is there no more than the cheapest has cost: all else would not have been stored.
  private func ownCost(of level: DeltaLevel, _ cost: Int) -> Int {
    guard level == .shoot else { return firstLeafCost ?? cost }
    return min(leastLeafCost ?? cost, firstLeafCost ?? cost, firstMiddleCost ?? cost)
  }

  /// Changes are not alike: half of what came with the last leaf is expected of the next. Where one has turned out to
  /// decode too much, and was written in vain, it takes two versions until the next is tried.
  private func expectedGrowth(after level: DeltaLevel, planned: DeltaLevel, _ base: Base) -> Int? {
    switch level {
    case .leaf: latestDecoded.map { max(0, base.decoded - $0) / 2 }
    case .shoot where planned == .leaf: 3 * base.length
    case .shoot: expectedGrowth.map { $0 / 4 }
    default: nil
    }
  }
}

extension BaseRecord {
  /// Far beyond any database, and far from where sums and products of such numbers end.
  private static let bearable = 0...1 << 56

  /// As it lies beside the images; `nil` when it is no record, or has figures that no push has written.
  init?(json: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Self.self, from: Data(json)),
      record.figures.allSatisfy(Self.bearable.contains)
    else { return nil }
    self = record
  }

  private var figures: [Int] {
    let bases = [anchor, middle].compactMap { $0 }.flatMap { [$0.length, $0.cost, $0.decoded, $0.plannedLength ?? 0] }
    let needed = needs.map { [$0.decoded, $0.stored, $0.whole] } ?? []
    return bases + needed + [pageSize, firstMiddleCost ?? 0, excessOfMiddles, firstLeafCost ?? 0, excessOfLeaves]
      + [excessOfSmallLeaves, leastLeafCost, dearestLeafCost, latestDecoded, expectedGrowth].compactMap { $0 }
  }
}
