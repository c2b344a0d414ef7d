import FoundationEssentials

/// Which bucket, at which server, and how it is spoken to.
package struct S3Configuration: Sendable, Hashable {
  package enum Style: String, Sendable {
    /// `https://endpoint/bucket/key`: works with every server that is not Amazon's.
    case path
    /// `https://bucket.endpoint/key`: needs names and certificates for each bucket.
    case virtual
  }

  /// How long nobody may delete what is stored (S3 Object Lock).
  package struct ObjectLock: Sendable, Hashable {
    package enum Mode: String, Sendable {
      /// Who has the right to do so may still delete it.
      case governance
      /// Nobody may.
      case compliance
    }

    package var days: Int
    package var mode: Mode

    package init(days: Int, mode: Mode) {
      self.days = days
      self.mode = mode
    }

    /// - Parameter now: seconds since 1970 UTC.
    fileprivate func headers(now: Int) -> [(name: String, value: String)] {
      [
        ("x-amz-object-lock-mode", mode.rawValue.uppercased()),
        ("x-amz-object-lock-retain-until-date", HTTPTime.iso(now + days * 86_400)),
      ]
    }
  }

  package var endpoint: WebAddress
  package var bucket: String
  /// Before every key, without `/` at both ends; "" for the whole bucket.
  package var prefix: String
  package var region: String
  package var style: Style
  /// As the server calls it ("STANDARD_IA"); the bucket's own when `nil`.
  package var storageClass: String?
  package var objectLock: ObjectLock?
  /// Send a checksum also with what is stored without a lock of ours, for a bucket that locks by itself.
  package var sendsChecksum = false
  /// Objects in one page of a listing.
  package var pageSize = 1000

  package init(
    endpoint: WebAddress, bucket: String, prefix: String = "", region: String = "us-east-1", style: Style = .path,
    storageClass: String? = nil
  ) {
    self.endpoint = endpoint
    self.bucket = bucket
    self.prefix = prefix
    self.region = region
    self.style = style
    self.storageClass = storageClass
  }

  package var location: String { prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix)" }

  /// What a PUT says for the sake of locks.
  /// - Parameters:
  ///   - now: seconds since 1970 UTC.
  ///   - body: what is stored. A server takes no lock without a checksum that is not part of the signature. All take
  ///     this one; Backblaze refuses those of the `x-amz-checksum-` kind.
  func lockHeaders(now: Int, body: [UInt8]) -> [(name: String, value: String)] {
    var headers = objectLock?.headers(now: now) ?? []
    if objectLock != nil || sendsChecksum {
      headers.append(("Content-MD5", Data(Signature.md5(body)).base64EncodedString()))
    }
    return headers
  }

  /// The key of an object, or what all keys below a prefix of names begin with.
  func key(_ name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

  /// The name behind a key; `nil` when the key is not below our prefix, or not one of ours.
  func name(_ key: String) -> String? {
    guard !prefix.isEmpty else { return key }
    return key.hasPrefix("\(prefix)/") ? String(key.dropFirst(prefix.count + 1)) : nil
  }

  /// Where requests go, for the bucket itself when there is no key. The path is not encoded.
  func place(of key: String?) -> (server: WebAddress, path: String) {
    let base = PercentEncoding.decode(endpoint.path) ?? ""
    switch style {
    case .path: return (endpoint, "\(base)/\(bucket)" + (key.map { "/\($0)" } ?? ""))
    case .virtual: return (endpoint.withSubdomain(bucket), "\(base)/\(key ?? "")")
    }
  }
}
