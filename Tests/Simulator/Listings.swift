import Repositories
import Sealing
import Storage

/// What became of a name at the target, and when.
struct Change {
  let time: UInt64
  /// `nil`: it was deleted.
  let size: Int?
}

/// How the target answers a LIST: in any order; in some worlds with names twice, later than it holds them, or short.
extension Simulation {
  /// A listing takes time: what changes meanwhile, it may show or not.
  func begun(_ call: Parked, _ prefix: String) -> Parked {
    var begun = call
    begun.isLate = profile.lateness > 0 && dice.once(in: 4)
    if begun.isLate { tally.lateListings += 1 }
    begun.listed = begun.isLate ? lagging(prefix) : sizes(prefix)
    return begun
  }

  func listed(_ before: [ObjectName: Int], _ prefix: String, _ call: Parked) -> [ObjectInfo] {
    var infos = call.isLate ? whole(before) : sincere(before, sizes(prefix))
    if mayMislead(call.session), !infos.isEmpty, dice.once(in: 5) {
      infos = short(infos)
      call.session.isMisled = true
      tally.cutListings += 1
    }
    if dice.once(in: profile.twice), !infos.isEmpty {
      infos += infos.filter { _ in dice.once(in: 3) }
      tally.doubledListings += 1
    }
    if prefix.hasPrefix(Layout.allTombstones), call.session.tombstones == nil {
      call.session.tombstones = Set(infos.compactMap { Self.digest(endOf: $0.name) })
    }
    infos.shuffle(using: &dice)
    return infos
  }

  /// Before a request changes the target.
  func remember(_ effect: Target.Late) {
    switch effect {
    case .put(let name, let bytes): changes[name, default: []].append(Change(time: now, size: bytes.count))
    case .delete(let name): changes[name, default: []].append(Change(time: now, size: nil))
    }
  }

  static func digest(endOf name: ObjectName) -> Digest? {
    name.text.split(separator: "-").last.flatMap { Hex.decode($0) }.flatMap { Digest($0) }
  }

  private func sizes(_ prefix: String) -> [ObjectName: Int] {
    target.objects.filter { $0.key.text.hasPrefix(prefix) }.mapValues(\.count)
  }

  private func whole(_ sizes: [ObjectName: Int]) -> [ObjectInfo] {
    sizes.keys.sorted().compactMap { name in sizes[name].map { info(name, $0) } }
  }

  /// Certain is only what was there all the time.
  private func sincere(_ before: [ObjectName: Int], _ after: [ObjectName: Int]) -> [ObjectInfo] {
    var infos: [ObjectInfo] = []
    for name in Set(before.keys).union(after.keys).sorted() {
      guard let size = after[name] ?? before[name] else { continue }
      if before[name] == nil || after[name] == nil, dice.once(in: 2) { continue }
      infos.append(info(name, size))
    }
    return infos
  }

  /// The target some time ago: all of it, or only some of its names.
  private func lagging(_ prefix: String) -> [ObjectName: Int] {
    let moment = now - UInt64(dice.below(Int(profile.lateness)))
    let isUneven = dice.once(in: 2)
    var sizes: [ObjectName: Int] = [:]
    for name in changes.keys.filter({ $0.text.hasPrefix(prefix) }).sorted() {
      let seen = isUneven && dice.once(in: 2) ? now : moment
      sizes[name] = changes[name]?.last { $0.time <= seen }?.size
    }
    return sizes
  }

  /// Who lets something go, or only looks, must bear a listing that leaves something out now and then. Who stores a
  /// version is promised that none does, however late they are (`Docs/Stores.md`).
  private func mayMislead(_ session: Session) -> Bool {
    profile.leavesOut && !session.isMisled
      && [.prune, .forget, .restore].contains(Deed(rawValue: session.deed))
  }

  /// It ends early, or a page of it is missing.
  private func short(_ infos: [ObjectInfo]) -> [ObjectInfo] {
    let sorted = infos.sorted { $0.name < $1.name }
    let from = dice.below(sorted.count)
    let until = dice.once(in: 2) ? sorted.count : from + 1 + dice.below(sorted.count - from)
    return Array(sorted[..<from] + sorted[until...])
  }
}
