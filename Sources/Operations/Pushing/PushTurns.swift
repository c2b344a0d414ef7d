import Repositories
import Sealing
import Storage

/// Whose turn comes first where a database is pushed to several targets: a push that was stopped at one of them begins with
/// the others the next time. Else a target that takes longer than a timer lets a run take, night after night, would keep
/// those behind it from ever having a version.
///
/// A note that is lost, or of a clock that was wrong, costs the order alone.
struct PushTurns: Sendable {
  private let world: World
  private let database: DatabaseSource
  private let host: String
  /// Nobody waits behind the only target.
  private let hasOthers: Bool
  private let dryRun: Bool

  init(of request: Push.Request, host: String, _ world: World) {
    self.world = world
    self.host = host
    database = request.database
    hasOthers = request.targets.count > 1
    dryRun = request.dryRun
  }

  /// As they are configured; behind those, the targets at which a push was stopped, the longest ago first.
  func order(_ targets: [TargetAccess]) -> [TargetAccess] {
    let stopped = targets.map { began(at: $0) ?? 0 }
    return targets.indices.sorted { (stopped[$0], $0) < (stopped[$1], $1) }.map { targets[$0] }
  }

  func begin(at target: TargetAccess) {
    guard hasOthers, !dryRun else { return }
    try? StateFiles.makeFolder(folder)
    try? StateFiles.write(Array("\(world.now())\n".utf8), to: path(of: target), durably: false)
  }

  /// Also when it failed: that took no longer than it may. A push that is stopped does not come to this.
  func end(at target: TargetAccess) {
    if !dryRun { StateFiles.remove(path(of: target)) }
  }

  /// When a push began there that did not come to its end: milliseconds since 1970.
  private func began(at target: TargetAccess) -> UInt64? {
    guard let bytes = try? StateFiles.read(path(of: target)) else { return nil }
    return UInt64(String(decoding: bytes.prefix(while: { $0 != UInt8(ascii: "\n") }), as: UTF8.self))
  }

  private var folder: String { "\(world.stateFolder)/turns" }

  private func path(of target: TargetAccess) -> String {
    let identity = [host, database.name, target.store.traits.identity, "\(database.fork)"].joined(separator: "\0")
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
