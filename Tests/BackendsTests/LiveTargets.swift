import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Backends

/// The live targets as this suite drives them.
extension LiveTarget {
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
