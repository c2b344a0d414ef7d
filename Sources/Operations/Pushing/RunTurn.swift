/// What comes next in a run of several databases: one of them, and those of its targets that it is pushed to now.
///
/// A target at which a push was stopped drips for every database. So all of them go everywhere else first, and each has a
/// version somewhere before the run comes to where it may be stopped once more. Each of those turns takes a copy of its own.
package struct RunTurn: Sendable, Equatable {
  /// A database that is to be pushed, and the names of its targets.
  package typealias Wish = (database: DatabaseSource, targets: [String])

  /// Which of the databases.
  package let database: Int
  package let targets: [String]

  package static func inOrder(_ wishes: [Wish], _ world: World) -> [RunTurn] {
    let turns = wishes.indices.map { RunTurn(database: $0, targets: wishes[$0].targets) }
    // One alone is copied once for all of its targets, and the push sees to whose turn comes first.
    guard turns.count > 1 else { return turns }
    let stops = wishes.map { PushTurns(of: $0.database, world).stops(among: $0.targets) }
    let latest: [String: UInt64] = stops.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: max) }
    guard !latest.isEmpty else { return turns }
    let early = turns.map { turn in
      RunTurn(database: turn.database, targets: turn.targets.filter { latest[$0] == nil })
    }
    let late = turns.flatMap { turn in
      turn.targets.filter { latest[$0] != nil }.map { RunTurn(database: turn.database, targets: [$0]) }
    }
    // First the target that has let a run go on for longest; there, whoever was not stopped.
    let ages = late.map { turn in
      let target = turn.targets[0]
      return (latest[target] ?? 0, stops[turn.database][target] ?? 0)
    }
    let order = late.indices.sorted { (ages[$0].0, ages[$0].1, $0) < (ages[$1].0, ages[$1].1, $1) }
    return early.filter { !$0.targets.isEmpty } + order.map { late[$0] }
  }
}
