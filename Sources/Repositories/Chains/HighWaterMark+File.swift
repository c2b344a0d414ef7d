import FoundationEssentials
package import Sealing

/// What stands in a `mark.json`: with a check of its own, as a digit that was spoilt would be told as another version, or
/// a later one, with a way out that parts what is one chain. Earlier builds wrote none, and leave it out again.
extension HighWaterMark {
  private struct Written: Codable {
    var sequence: UInt64
    /// Hexadecimal.
    var id: String
    var host: String?
    var database: String?
    var pushed: UInt64?
    var manifest: String?
    var time: UInt64?
    var check: String?
  }

  /// Those that a version can have.
  private static let places: ClosedRange<UInt64> = 1...VersionName.lastSequence

  /// `nil` for what is no mark: one that only looks like it would be compared with nothing, and nothing would be missed.
  package init?(json bytes: [UInt8], of chain: ChainID) {
    guard let written = try? JSONDecoder().decode(Written.self, from: Data(bytes)),
      let id = Layout.digest(written.id), Self.places.contains(written.sequence),
      Self.places.contains(written.pushed ?? written.sequence)
    else { return nil }
    self.init(sequence: written.sequence, id: id)
    (host, database, pushed) = (written.host, written.database, written.pushed)
    (manifest, time) = (written.manifest, written.time)
    if let written = written.check, written != check(chain) { return nil }
  }

  func json(of chain: ChainID) throws -> [UInt8] {
    let written = Written(
      sequence: sequence, id: id.hex, host: host, database: database, pushed: pushed, manifest: manifest, time: time,
      check: check(chain))
    return try [UInt8](JSONEncoder().encode(written))
  }

  private func check(_ chain: ChainID) -> String {
    let fields: [String?] = [
      chain.hex, "\(sequence)", id.hex, host, database, pushed.map { "\($0)" }, manifest, time.map { "\($0)" },
    ]
    let text = fields.map { field in field.map { "=\($0)" } ?? "-" }.joined(separator: "\n")
    return String(Digest.sha256(of: Array(text.utf8)).hex.prefix(16))
  }
}
