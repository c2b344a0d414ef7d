import Sealing

/// The units of a member that the target lost, with their fingerprints where those are known.
final class LostUnits {
  private struct Unit: BitwiseCopyable {
    var isLost = false
    var isKnown = false
    var high: UInt64 = 0
    var low: UInt64 = 0
  }

  private let file: Core.FileContent
  private let units: FileTable<Unit>
  private(set) var isEmpty = true

  /// - Throws: `.stateFolder`.
  init(of file: Core.FileContent, in folder: String) throws(RepositoryError) {
    self.file = file
    units = try FileTable(capacity: Int(file.unitCount), count: Int(file.unitCount), in: folder)
  }

  /// - Parameter prints: of all units of the frame; `nil` when they are not known.
  func note(_ demand: RestorePlan.Demand, _ prints: [Fingerprint]?) {
    isEmpty = false
    for step in 0..<Int(demand.count) {
      let print = prints.flatMap { prints in
        prints.indices.contains(Int(demand.firstUnit) + step) ? prints[Int(demand.firstUnit) + step] : nil
      }
      units[Int(demand.memberUnit) + step] = Unit(
        isLost: true, isKnown: print != nil, high: print?.high ?? 0, low: print?.low ?? 0)
    }
  }

  func loseAll() {
    isEmpty = units.count == 0
    for unit in 0..<units.count { units[unit] = Unit(isLost: true) }
  }

  /// Puts in place what is found by its fingerprint.
  /// - Returns: the units of which nothing is known; `nil` when one that is known is nowhere.
  /// - Throws: `CancellationError`, `StoreError`, and what the member does.
  func fill(_ member: ScratchMember, from sources: SalvageSources) async throws -> [Int]? {
    var unknown: [Int] = []
    for unit in 0..<units.count {
      if unit % 256 == 0 { try Task.checkCancellation() }
      let lost = units[unit]
      guard lost.isLost else { continue }
      guard lost.isKnown else {
        unknown.append(unit)
        continue
      }
      let print = Fingerprint(high: lost.high, low: lost.low)
      guard let found = try await sources.unit(print, file.unitType) else { return nil }
      try member.write(found[...], at: unit * Int(file.unitSize))
    }
    return unknown
  }
}
