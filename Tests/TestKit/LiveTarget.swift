import FoundationEssentials

/// A real server that Scripts/test started for this run, as its targets.json names it.
package struct LiveTarget: Decodable, Sendable, CustomStringConvertible {
  package var name: String
  /// `s3` or `webdav`.
  package var kind: String
  package var endpoint: String?
  package var bucket: String?
  package var accessKey: String?
  package var secretKey: String?
  package var region: String?
  package var style: String?
  package var url: String?
  package var user: String?
  package var password: String?
  package var auth: String?
  package var caFile: String?
  /// Another user, who owns nothing there.
  package var pusher: Key?

  package struct Key: Decodable, Sendable {
    package var accessKey: String
    package var secretKey: String
  }

  package var description: String { name }

  /// All of them; empty when `SEALIFT_TEST_TARGETS` names no file.
  package static let all: [LiveTarget] = {
    struct File: Decodable { var targets: [LiveTarget] }
    guard let path = Environment.value("SEALIFT_TEST_TARGETS") else { return [] }
    guard let data = FileManager.default.contents(atPath: path),
      let file = try? JSONDecoder().decode(File.self, from: data)
    else { fatalError("\(path) is no list of targets") }
    return file.targets
  }()
}
