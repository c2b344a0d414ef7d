import Repositories
import Sealing
import Storage

extension TargetAccess {
  /// What the names and sizes come to of the objects that a repository is opened with: key slots, keyrings, configurations.
  /// Only of a folder, where it costs no request (`Docs/Decisions/0039-unchanged-means-restorable.md`).
  /// - Returns: `nil` also where that cannot be known.
  func openingListed() async -> String? {
    guard store.traits.isLocal else { return nil }
    var lines: [String] = []
    for prefix in [Layout.slots, Layout.keyrings, Layout.configurations] {
      guard let objects = try? await store.list(prefix: prefix) else { return nil }
      lines += objects.map { "\($0.name.text) \($0.size)\n" }
    }
    return Digest.sha256(of: Array(lines.sorted().joined().utf8)).hex
  }
}
