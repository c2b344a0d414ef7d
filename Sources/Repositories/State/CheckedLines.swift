import Sealing

/// Lines of a state file that say what is damaged, and behind them `check` and a hash of them: one with a wrong digit would
/// speak of a version or a pack that nobody has, and take back what was said.
///
/// Earlier builds wrote no hash, and pass over it. What they wrote is taken as it is: who parses the lines refuses what
/// nobody can have written.
enum CheckedLines {
  private static let key = "check "

  /// - Returns: them without the hash; none where there is no such file.
  /// - Throws: `.stateFolder` when it cannot be read, or is not as it was written.
  static func read(_ path: String) throws(RepositoryError) -> [Substring] {
    guard let bytes = try Self.bytes(path) else { return [] }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    // Nobody writes one without any.
    guard let last = lines.last else { throw spoilt(path) }
    guard last.hasPrefix(key) else { return lines }
    let told = Array(lines.dropLast())
    guard bytes == encoded(told.map { "\($0)\n" }.joined()) else { throw spoilt(path) }
    return told
  }

  /// Durable when it returns.
  /// - Parameter text: lines, each with its end.
  static func write(_ text: String, to path: String) throws(RepositoryError) {
    try StateFiles.write(encoded(text), to: path)
  }

  static func spoilt(_ path: String) -> RepositoryError {
    RepositoryError(
      .stateFolder, "\(path) is spoilt: what this machine remembered of damage at the target is not known",
      hint: wayOut(of: path))
  }

  private static func bytes(_ path: String) throws(RepositoryError) -> [UInt8]? {
    do throws(RepositoryError) { return try StateFiles.read(path) } catch {
      throw RepositoryError(
        .stateFolder, error.message, hint: "Make that readable. Or: \(wayOut(of: path))", cause: error)
    }
  }

  /// What checks and drills find is found again.
  private static func wayOut(of path: String) -> String {
    "Move it away, and have all read again before the next push: mv '\(path)' '\(path).bad' && sealift check --read-data"
  }

  private static func encoded(_ text: String) -> [UInt8] {
    let lines = Array(text.utf8)
    return lines + Array("\(key)\(Digest.sha256(of: lines).hex.prefix(16))\n".utf8)
  }
}
