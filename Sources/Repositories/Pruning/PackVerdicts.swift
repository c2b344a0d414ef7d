import Sealing
import Storage

/// What one look at a chain shows of the packs that manifests need: each is looked for once, however many versions share
/// it.
final class PackVerdicts: Sendable {
  /// The length of a pack that is there.
  private let size: @Sendable (Digest) -> Int?
  /// What records name, packs and manifests.
  let condemned: NameSet
  private let tables: PackTables
  /// By the numbers of `tables`, as far as they were asked for.
  private let verdicts = Locked<[Verdict]>([])

  private struct Verdict {
    let isThere: Bool
    let isCondemned: Bool
  }

  init(_ tables: PackTables, condemned: NameSet, size: @escaping @Sendable (Digest) -> Int?) {
    self.tables = tables
    self.condemned = condemned
    self.size = size
  }

  /// - Parameter listed: the packs that are there.
  convenience init(_ tables: PackTables, listed: [Digest: ObjectInfo], condemned: NameSet) {
    self.init(tables, condemned: condemned) { listed[$0]?.size }
  }

  /// Whether it is there, of the right length.
  func isThere(_ pack: PackTables.Pack) -> Bool { size(pack.name) == pack.length }

  /// Whether all of it is there.
  func areMet(_ needs: PackTables.Needs) -> Bool { needs.isComplete && all(of: needs) { $0.isThere } }

  /// Whether no record names any of it.
  func areSpared(_ needs: PackTables.Needs) -> Bool { all(of: needs) { !$0.isCondemned } }

  private func all(of needs: PackTables.Needs, _ holds: (Verdict) -> Bool) -> Bool {
    verdicts.withLock { verdicts in
      for pack in tables.packs(from: verdicts.count) {
        verdicts.append(Verdict(isThere: isThere(pack), isCondemned: condemned.contains(pack.name)))
      }
      for part in needs.parts {
        for number in part where !holds(verdicts[Int(number)]) { return false }
      }
      return true
    }
  }
}
