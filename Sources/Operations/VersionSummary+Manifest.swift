import Repositories
import Sealing

extension VersionSummary {
  /// What people see of a stored version; `nil` for a partial manifest.
  init?(_ manifest: StoredManifest, target: String, annotations: Annotations = .none) {
    guard let core = manifest.core, let file = core.members.first?.file else { return nil }
    self.init(
      id: manifest.id.hex, database: core.database, host: core.host, target: target, time: core.time,
      size: Int(file.length), pageSize: Int(file.unitSize), pages: Int(file.unitCount), method: core.method.name,
      bytesNew: Int(manifest.body.newBytes) + manifest.name.length, sequence: core.sequence,
      tags: annotations.tags(of: manifest.id, pushedWith: manifest.body.tags),
      note: annotations.note(of: manifest.id, pushedWith: manifest.body.note),
      damaged: core.flags.contains(.damaged), notCheckable: core.flags.contains(.notCheckable), sha256: file.sha256.hex,
      formatVersion: manifest.object.version)
  }
}

extension Core.Method {
  var name: String {
    switch self {
    case .vacuum: "vacuum"
    case .pages: "pages"
    case .file: "file"
    case .atomic: "atomic"
    }
  }
}
