import Repositories
import Sealing

extension VersionSummary {
  /// What people see of a stored version; `nil` for a partial manifest.
  init?(_ manifest: StoredManifest, target: String, annotations: Annotations = .none) {
    self.init(manifest.facts, target: target, annotations: annotations)
  }

  /// - Parameter words: what was said of it since it was pushed; `nil` where that was not read.
  init?(_ facts: VersionFacts, target: String, words: Annotations?) {
    self.init(facts, target: target, annotations: words ?? Annotations.none)
    if words == nil { wordsUnread = true }
  }

  init?(_ facts: VersionFacts, target: String, annotations: Annotations = .none) {
    guard let version = facts.version else { return nil }
    self.init(
      id: version.id.hex, database: version.database, host: version.host, target: target, time: version.time,
      size: Int(version.file.length), pageSize: Int(version.file.unitSize), pages: Int(version.file.unitCount),
      method: version.method.name, bytesNew: [Int(clamping: facts.newBytes), facts.length].clampedSum,
      sequence: facts.sequence,
      tags: annotations.tags(of: facts, pushedWith: facts.tags),
      note: annotations.note(of: facts, pushedWith: facts.note),
      damaged: version.flags.contains(.damaged), notCheckable: version.flags.contains(.notCheckable),
      sha256: version.file.sha256.hex, formatVersion: facts.formatVersion)
    lacksCompanions = version.lacksCompanions
    if annotations.unread != nil { wordsUnread = true }
    pinned = annotations.isPinned(facts)
    foundDamaged = annotations.damage(of: facts)
    let drill = annotations.drill(of: facts)
    drilledAt = drill?.time
    drillPassed = drill?.passed
    drillText = drill?.text
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
