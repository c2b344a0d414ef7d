/// Moves for a shell, which may be cut anywhere and run again. Nothing is overwritten, and no folder ends up in another:
/// hence `mv -nT`.
enum ShellMoves {
  /// What waits to come back: the ending of its name, and where it is.
  typealias Old = (ending: String, path: String)

  /// What is there goes, the database first; then what was there comes back, the database last: SQLite takes a -wal for
  /// that of whatever database it stands beside. Whether the last step is done tells whether all is, so that a command
  /// that was cut does the rest when it is run again.
  /// - Parameters:
  ///   - endings: of what goes and comes with it.
  ///   - old: where those are that stood there before, in the order in which they come back.
  static func undo(_ path: String, _ endings: [String], _ old: [Old], away: String) -> String {
    let go = moving(path, to: away)
    let new = endings.filter { ending in !old.contains { $0.ending == ending } }
      .map { moving(path + $0, to: away + $0) }
    guard let last = old.last else {
      return "{ \(isThere(away)) || { \((new + [go]).joined(separator: " && ")); }; }"
    }
    let steps = [go] + new + comingBack(old, to: path, away)
    return "{ \(isGone(last.path)) || { \(steps.joined(separator: " && ")); }; }"
  }

  /// What was there comes back where nothing is; where something is, nothing is done.
  /// - Parameter old: in the order in which they come back, the database last.
  static func back(_ path: String, _ old: [Old], away: String) -> String {
    "{ \(isThere(path)) || { \(comingBack(old, to: path, away).joined(separator: " && ")); }; }"
  }

  /// What stands in the place of something beside the database goes before that comes: once it has come, it stays.
  private static func comingBack(_ old: [Old], to path: String, _ away: String) -> [String] {
    old.map { ending, file in
      let comes = moving(file, to: path + ending)
      guard !ending.isEmpty else { return comes }
      return "{ \(isGone(file)) || { \(moving(path + ending, to: away + ending)) && \(comes); }; }"
    }
  }

  /// A link that leads nowhere is there too.
  static func isThere(_ path: String) -> String {
    let name = shellQuoted(path)
    return "[ -e \(name) ] || [ -L \(name) ]"
  }

  static func isGone(_ path: String) -> String {
    let name = shellQuoted(path)
    return "{ [ ! -e \(name) ] && [ ! -L \(name) ]; }"
  }

  /// Moves what is there. Fails where the other name is taken: not every `mv -n` says so.
  static func moving(_ path: String, to other: String) -> String {
    let (from, to) = (shellQuoted(path), shellQuoted(other))
    return "{ \(isGone(path)) || { mv -nT -- \(from) \(to) && [ ! -e \(from) ]; }; }"
  }
}

/// Text as a shell reads it as one word. A quotation mark is one whatever accent follows.
package func shellQuoted(_ text: String) -> String {
  let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
  return "'" + parts.map(String.init).joined(separator: "'\\''") + "'"
}

/// The same, for people: what a shell reads as one word anyhow, and as no option, stays as it is.
package func shellWord(_ text: String) -> String {
  let isPlain = text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "+")...UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "="): true
    default: byte >= 0x80
    }
  }
  return isPlain && !text.isEmpty && !text.hasPrefix("-") ? text : shellQuoted(text)
}
