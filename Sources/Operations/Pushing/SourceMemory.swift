import FoundationEssentials
import Repositories
import Sealing
import Snapshots
import Storage

/// What this machine remembers of the last push of one database to one target: enough to see, by `stat` alone, that
/// nothing changed since, without a key, and until `verifyRemote` has gone by without a request.
///
/// A line of JSON, and one with a hash of it: what a push says then, a person may note as the id and the head of a version.
struct SourceMemory: Codable, Sendable {
  /// Which file was pushed, and how it was taken.
  var source: Source
  var signature: SourceSignature
  /// What the listing of the companions came to, hexadecimal; `nil` where there are none.
  var companions: String?
  /// Hexadecimal repository and chain ids, and the object that says the version exists.
  var repository: String
  var chain: String
  var object: String
  var version: VersionSummary
  /// When the target last showed that object: milliseconds since 1970 UTC.
  var seenAt: UInt64
  /// What the names of the chain's annotations came to then; none of those says that the version is damaged.
  var annotations: String?
  /// The release of SQLite that could not check the version; `nil` where it was checked.
  var release: String?
  /// What the listing of the chain's packs came to then: all that the version needs were in it. An earlier build noted
  /// none.
  var listed: Packs?
  /// What the listing of the objects came to that a folder's repository is opened with; it opened then. An earlier build
  /// noted none, and of other targets none is noted.
  var opening: String?
  /// Where that was, by a short name: a link may lead elsewhere since. An earlier build noted none.
  var place: String?

  struct Source: Codable, Hashable, Sendable {
    var path: String
    var method: String
    var keepFreePages: Bool

    init(_ database: DatabaseSource) {
      (path, method, keepFreePages) = (database.path, database.method.rawValue, database.keepFreePages)
    }
  }

  struct Packs: Codable, Hashable, Sendable {
    /// Of names and lengths, hexadecimal.
    var digest: String
    /// One of them; `nil` where there are none.
    var sample: Sample?

    struct Sample: Codable, Hashable, Sendable {
      /// Hexadecimal.
      var name: String
      var length: Int
    }

    init(_ listing: PackListing) {
      digest = listing.digest.hex
      sample = listing.sample.map { Sample(name: $0.name.hex, length: $0.length) }
    }
  }

  /// One file for each chain and target: whatever is pushed there under one name is the newest version, and nothing that
  /// was pushed before is any more.
  /// - Parameter store: the identity of the target's store.
  static func path(_ world: World, _ database: DatabaseSource, host: String, store: String) -> String {
    let identity = [host, database.name, store, "\(database.fork)"].joined(separator: "\0")
    return "\(world.stateFolder)/sources/\(Digest.sha256(of: Array(identity.utf8)).hex.prefix(32)).json"
  }

  /// Forgets everything: a repository made anew at a place that is remembered holds nothing yet.
  static func forgetAll(_ world: World) {
    let folder = "\(world.stateFolder)/sources"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      StateFiles.remove("\(folder)/\(name)")
    }
  }

  /// What is remembered of one version goes, whatever database it is of: it cannot be restored.
  static func forget(_ version: Digest, _ world: World) {
    let folder = "\(world.stateFolder)/sources"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where read("\(folder)/\(name)")?.version.id == version.hex {
      StateFiles.remove("\(folder)/\(name)")
    }
  }

  /// - Returns: `nil` also for what is not as it was written, or was written for another file, and for what an earlier build
  ///   wrote, without a hash: that costs one snapshot.
  static func read(_ path: String) -> SourceMemory? {
    guard let bytes = try? StateFiles.read(path), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let json = Array(bytes[..<end])
    guard Array(bytes[end...]) == check(of: json, at: path) else { return nil }
    return try? JSONDecoder().decode(SourceMemory.self, from: Data(json))
  }

  /// What stands behind the JSON.
  private static func check(of json: [UInt8], at path: String) -> [UInt8] {
    let name = path.split(separator: "/").last ?? ""
    return Array("\n\(Digest.sha256(of: Array(name.utf8) + [0] + json).hex)\n".utf8)
  }

  func write(_ path: String) {
    // A memory that cannot be written costs a snapshot next time, nothing else.
    guard let bytes = try? JSONEncoder().encode(self) else { return }
    try? StateFiles.makeFolder(PathSteps.folder(of: path))
    let json = [UInt8](bytes)
    try? StateFiles.write(json + Self.check(of: json, at: path), to: path)
  }
}
