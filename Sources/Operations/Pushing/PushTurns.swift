import Repositories
import Sealing

/// Whose turn comes first where a database is pushed to several targets: a push that was stopped at one of them begins with
/// the others the next time. Else a target that takes longer than a timer lets a run take, night after night, would keep
/// those behind it from ever having a version. What is noted here counts for the other databases of a run, too (`RunTurn`).
///
/// A note that is lost, or of a clock that was wrong, costs the order alone.
package struct PushTurns: Sendable {
  private let world: World
  private let database: DatabaseSource
  private let host: String
  private let dryRun: Bool

  package init(of database: DatabaseSource, dryRun: Bool = false, _ world: World) {
    self.world = world
    self.database = database
    self.dryRun = dryRun
    // Where that cannot be had no push comes to its turn.
    host = (try? HostName.known(world)) ?? world.systemName()
  }

  /// As they are configured; behind those, the targets at which a push was stopped, the longest ago first.
  func order(_ targets: [TargetAccess]) -> [TargetAccess] {
    let stopped = targets.map { began(at: $0.name) ?? 0 }
    return targets.indices.sorted { (stopped[$0], $0) < (stopped[$1], $1) }.map { targets[$0] }
  }

  /// What was stopped before it came to this target is not the target's fault.
  func begin(at target: String) {
    guard !dryRun, !Task.isCancelled else { return }
    note(world.now(), at: target)
  }

  /// Also when it failed: that took no longer than it may. A push that is stopped does not come to this.
  func end(at target: String) {
    if !dryRun { StateFiles.remove(path(of: target)) }
  }

  /// Asks something of a target before it is pushed to, which may hang as the push may. What was noted stays: nothing has
  /// shown yet that a push comes to its end there.
  package func asking<Value>(_ target: String, _ ask: () async throws -> Value) async rethrows -> Value {
    let before = began(at: target)
    begin(at: target)
    defer { if !Task.isCancelled { putBack(before, at: target) } }
    return try await ask()
  }

  /// When a push began there that did not come to its end: milliseconds since 1970.
  func began(at target: String) -> UInt64? {
    guard let bytes = try? StateFiles.read(path(of: target)) else { return nil }
    return UInt64(String(decoding: bytes.prefix(while: { $0 != UInt8(ascii: "\n") }), as: UTF8.self))
  }

  /// The same of each target that has a note.
  func stops(among targets: [String]) -> [String: UInt64] {
    targets.reduce(into: [:]) { $0[$1] = began(at: $1) }
  }

  /// As it was before a `begin`. What another push has ended meanwhile stays so.
  func putBack(_ before: UInt64?, at target: String) {
    guard let before else { return end(at: target) }
    if !dryRun, began(at: target) != nil { note(before, at: target) }
  }

  private func note(_ time: UInt64, at target: String) {
    try? StateFiles.makeFolder(folder)
    try? StateFiles.write(Array("\(time)\n".utf8), to: path(of: target), durably: false)
  }

  private var folder: String { "\(world.stateFolder)/turns" }

  /// By the name of the target: whoever is asked for the order has not opened it.
  private func path(of target: String) -> String {
    let identity = [host, database.name, target, "\(database.fork)"].joined(separator: "\0")
    return "\(folder)/\(Digest.sha256(of: Array(identity.utf8)).hex.prefix(32))"
  }
}

extension Push.Outcome {
  /// As if the targets had had their turns in this order.
  mutating func sort(as targets: [TargetAccess]) {
    let names = targets.map(\.name)
    func place(_ name: String) -> Int { names.firstIndex(of: name) ?? names.count }
    let (pushed, failures) = (self.pushed, self.failures)
    self.pushed = pushed.indices.sorted {
      (place(pushed[$0].version.target), $0) < (place(pushed[$1].version.target), $1)
    }.map { pushed[$0] }
    self.failures = failures.indices.sorted {
      (place(failures[$0].target), $0) < (place(failures[$1].target), $1)
    }.map { failures[$0] }
  }
}
