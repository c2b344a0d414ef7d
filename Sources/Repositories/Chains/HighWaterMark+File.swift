import FoundationEssentials
import Sealing

/// What stands in a `mark.json`.
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
  }

  /// Those that a version can have.
  private static let places: ClosedRange<UInt64> = 1...VersionName.lastSequence

  /// `nil` for what is no mark: one that only looks like it would be compared with nothing, and nothing would be missed.
  package init?(json bytes: [UInt8]) {
    guard let written = try? JSONDecoder().decode(Written.self, from: Data(bytes)),
      let id = Layout.digest(written.id), Self.places.contains(written.sequence),
      Self.places.contains(written.pushed ?? written.sequence)
    else { return nil }
    self.init(sequence: written.sequence, id: id)
    (host, database, pushed) = (written.host, written.database, written.pushed)
    (manifest, time) = (written.manifest, written.time)
  }

  func json() throws -> [UInt8] {
    let written = Written(
      sequence: sequence, id: id.hex, host: host, database: database, pushed: pushed, manifest: manifest, time: time)
    return try [UInt8](JSONEncoder().encode(written))
  }
}
