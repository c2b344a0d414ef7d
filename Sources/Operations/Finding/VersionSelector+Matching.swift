import Sealing
import Storage

// Which versions answer to a name, and when enough of a chain was read to know that.

extension VersionSelector {
  /// As a person would write it, for messages.
  var text: String {
    switch self {
    case .id(let prefix): prefix
    case .latest(let database): database.map { "\($0):latest" } ?? "latest"
    // The whole of a second is meant where none of its parts was named.
    case .notLater(let database, let time):
      "\(database)@\(time % 1000 == 999 ? Times.seconds(time) : Times.text(time))"
    }
  }

  var namesDatabase: Bool {
    switch self {
    case .id, .latest(nil): false
    case .latest, .notLater: true
    }
  }

  func matches(_ facts: VersionFacts) -> Bool {
    guard let version = facts.version else { return false }
    switch self {
    case .id(let prefix): return version.id.hex.hasPrefix(prefix)
    case .latest(let database): return database.map { $0.isSameName(as: version.database) } ?? true
    case .notLater(let database, let time): return database.isSameName(as: version.database) && version.time <= time
    }
  }

  /// Whether the versions before this one of its chain need not be looked at. All versions of a chain are of one database.
  /// Of a time that is past they are: they say whether the clock that pushed this one was right. To a machine that has read
  /// the chain before they cost nothing. Names that look alike are taken for one here: which is meant is known when all
  /// were seen.
  func isSettled(by facts: VersionFacts, now: UInt64) -> Bool {
    guard let version = facts.version else { return false }
    switch self {
    case .id: return matches(facts)
    case .latest: return true
    case .notLater(let database, let time):
      return !database.looksLike(version.database) || time >= now && matches(facts)
    }
  }

  /// Whether this version says that its chain is the one that is named, or may be: also where it only looks alike. All
  /// versions of a chain are of one database.
  func concerns(_ facts: VersionFacts) -> Bool {
    database.map { $0.looksLike(facts.version?.database) } ?? matches(facts)
  }

  /// The same of a database of another name.
  func naming(_ database: String) -> VersionSelector {
    switch self {
    case .id: self
    case .latest: .latest(database: database)
    case .notLater(_, let time): .notLater(database: database, time: time)
    }
  }

  /// A part of an id may stand for several versions.
  var isAmbiguous: Bool {
    if case .id(let prefix) = self { return prefix.utf8.count < 64 }
    return false
  }
}
