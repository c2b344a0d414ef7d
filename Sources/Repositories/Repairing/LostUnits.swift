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
  /// - Parameter path: the member's.
  /// - Returns: the units of which nothing is known; `nil` when one that is known is nowhere.
  /// - Throws: `CancellationError`, `StoreError`, and what the member does.
  func fill(_ member: ScratchMember, of path: String, from sources: SalvageSources) async throws -> [Int]? {
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
      let found = try await sources.unit(print, file.unitType) ?? outgrown(unit, print, of: path, in: sources)
      guard let found else { return nil }
      try member.write(found[...], at: unit * Int(file.unitSize))
    }
    return unknown
  }

  /// The last block of a file that has grown since: no block by itself any more, it is the beginning of a longer one.
  private func outgrown(_ unit: Int, _ print: Fingerprint, of path: String, in sources: SalvageSources) -> [UInt8]? {
    let length = Int(file.length) - unit * Int(file.unitSize)
    guard file.unitType == .block, (1..<Int(file.unitSize)).contains(length) else { return nil }
    return sources.blocks?.beginning(length, ofBlock: unit, of: path, print)
  }
}
