import FoundationEssentials
import Glibc
import Storage
import Testing

@testable import Backends

/// A real server that was started for this run.
struct LiveTarget: Decodable, Sendable, CustomTestStringConvertible {
  var name: String
  var kind: String
  var endpoint: String?
  var bucket: String?
  var accessKey: String?
  var secretKey: String?
  var region: String?
  var style: String?
  var url: String?
  var user: String?
  var password: String?
  var auth: String?
  var caFile: String?

  var testDescription: String { name }

  /// All of them; empty when `SEALIFT_TEST_TARGETS` names no file.
  static let all: [LiveTarget] = {
    struct File: Decodable { var targets: [LiveTarget] }
    guard let path = ProcessInfo.processInfo.environment["SEALIFT_TEST_TARGETS"] else { return [] }
    guard let data = FileManager.default.contents(atPath: path),
      let file = try? JSONDecoder().decode(File.self, from: data)
    else { fatalError("\(path) is no list of targets") }
    return file.targets
  }()

  static var s3: [LiveTarget] { all.filter { $0.kind == "s3" } }
  static var webdav: [LiveTarget] { all.filter { $0.kind == "webdav" } }

  static var now: @Sendable () -> Int { { time(nil) } }

  func s3Store(
    prefix: String, bucket: String? = nil, accessKey: String? = nil, secretKey: String? = nil, region: String? = nil,
    pageSize: Int = 1000, now: @escaping @Sendable () -> Int = LiveTarget.now
  ) throws -> S3Store {
    var configuration = S3Configuration(
      endpoint: try WebAddress(endpoint!), bucket: bucket ?? self.bucket!, prefix: prefix,
      region: region ?? self.region!, style: S3Configuration.Style(rawValue: style!)!)
    configuration.pageSize = pageSize
    var settings = HTTPSettings()
    settings.caFile = caFile
    let credentials = S3Credentials(
      accessKey: accessKey ?? self.accessKey!, secretKey: secretKey ?? self.secretKey!)
    return S3Store(configuration, conditionalPut: name.hasPrefix("ceph"), settings: settings, now: now) { credentials }
  }
}
