import Repositories
import Sealing
import Storage

/// A repository without a version, made once: every run begins with a copy of it.
enum Stem {
  static let keyFile = [UInt8](repeating: 7, count: 32)
  static let secret = SlotSecret.keyFile(keyFile)

  static func make(root: String) throws -> [ObjectName: [UInt8]] {
    let simulation = Simulation(seed: 0, stem: [:], root: root, isTold: false)
    try simulation.makeRepository()
    return simulation.target.objects
  }
}

extension Simulation {
  fileprivate func makeRepository() throws {
    let store = SessionStore(self, nil)
    Task { _ = try await RepositoryFiles.create(at: store, with: Stem.secret, cost: .least, now: now, random: random) }
    try settle()
  }
}
