import FoundationEssentials
import Repositories

/// What the bases of a database cost, and by that when new ones pay: levels, not chains (`Docs/Decisions/0005`).
///
/// A leaf rests on the middle version, a middle on the anchor. Both grow dearer with their distance. A new middle is made
/// when the leaves together have cost so much more than the first one as a middle costs; a new anchor in the same way
/// when the middles have. That is never worse than twice the best that one could have done knowing the future.
struct BaseRecord: Codable, Equatable, Sendable {
  /// Bytes.
  struct Base: Codable, Equatable, Sendable {
    var length: Int
    /// What its push added at the target.
    var cost: Int
    /// What restoring it decodes.
    var decoded: Int
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

  /// What the next version of so many bytes should be.
  func level(for length: Int) -> DeltaLevel {
    guard excessOfMiddles < anchor.cost, anchor.decoded + length <= 3 * length else { return .anchor }
    guard let middle, excessOfLeaves < middle.cost else { return .middle }
    // A leaf of the middle's kind decodes what the middle does, and its own frames.
    let own = max(0, middle.decoded - anchor.length)
    return middle.decoded + own <= 3 * length ? .leaf : .middle
  }

  /// Takes note of a version.
  /// - Parameters:
  ///   - isKept: it is a base from now on: with its image, or, where a middle version's has no room, by its units alone.
  static func after(
    _ before: BaseRecord?, _ level: DeltaLevel, _ base: Base, isKept: Bool, pageSize: Int, method: String
  ) -> BaseRecord? {
    guard level > .anchor, var record = before else {
      return isKept ? BaseRecord(pageSize: pageSize, method: method, anchor: base) : nil
    }
    if level == .middle {
      record.excessOfMiddles += max(0, base.cost - (record.firstMiddleCost ?? base.cost))
      record.firstMiddleCost = record.firstMiddleCost ?? base.cost
      // Leaves of a middle that is not at hand would rest on the one before, at a fresh account.
      record.middle = isKept ? base : nil
      record.firstLeafCost = nil
      record.excessOfLeaves = 0
    } else {
      record.excessOfLeaves += max(0, base.cost - (record.firstLeafCost ?? base.cost))
      record.firstLeafCost = record.firstLeafCost ?? base.cost
    }
    return record
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
    let bases = [anchor, middle].compactMap { $0 }.flatMap { [$0.length, $0.cost, $0.decoded] }
    return bases + [pageSize, firstMiddleCost ?? 0, excessOfMiddles, firstLeafCost ?? 0, excessOfLeaves]
  }
}
