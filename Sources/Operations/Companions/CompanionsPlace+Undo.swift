/// The way back: commands for a shell.
extension CompanionsPlace {
  /// A name for what was put somewhere and is taken away again: one that nothing has.
  static func undone(_ path: String, _ time: String) -> String {
    firstFreeName("\(path).undone-\(time)") { !stands($0) }
  }

  /// - Parameter left: what somebody else puts back.
  /// - Returns: see `Placed.undo`.
  func undo(_ placed: Placed, leaving left: String?) -> [String] {
    let aside = Dictionary(
      placed.movedAside.map { (MemberPath.key($0.from), $0.to) }, uniquingKeysWith: { first, _ in first })
    let (made, databases) = (Set(placed.made.map(MemberPath.key)), Set(placed.databases.map(MemberPath.key)))
    // What stands beside a database goes and comes with it.
    let sides = Set(placed.databases.flatMap { path in SideFiles.endings.map { MemberPath.key(path + $0) } })
    let alone = placed.made.filter { path in path != left && !sides.contains(MemberPath.key(path)) }
    return alone.map { path in
      let isDatabase = databases.contains(MemberPath.key(path))
      let endings = SideFiles.endings.filter { ending in
        let file = MemberPath.key(path + ending)
        return isDatabase || (aside[file] != nil && !made.contains(file))
      }
      let old = (endings + [""]).compactMap { ending in
        aside[MemberPath.key(path + ending)].map { (ending: ending, path: $0) }
      }
      let away = firstFreeName("\(path).undone-\(placed.time)") { name in
        ([""] + endings).allSatisfy { !Self.stands(name + $0) }
      }
      return ShellMoves.undo(path, endings, old, away: away)
    }
  }

  /// Puts back, for a shell, what a restore that was killed has moved aside. What it had put there, and where nothing
  /// stood before, stays under another name. To be joined by `&&`; run twice, they do nothing more.
  static func backCommands(_ moved: [(from: String, to: String)], taking added: [String]) -> [String] {
    let away = moved.map { from, to in
      "{ \(ShellMoves.isGone(to)) || \(ShellMoves.moving(from, to: undone(from, "restore"))); }"
    }
    let apart = added.map { path in
      let other = undone(path, "restore")
      return "{ \(ShellMoves.isThere(other)) || \(ShellMoves.moving(path, to: other)); }"
    }
    return away + apart + moved.reversed().map { from, to in ShellMoves.moving(to, to: from) }
  }
}
