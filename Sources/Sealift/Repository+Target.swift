import Backends
import Operations
import Storage

extension Repository {
  /// The place of a repository: a folder, a bucket of an S3-compatible server, or a WebDAV collection.
  public struct Target: Sendable, CustomStringConvertible {
    /// Where it is, as people write it; never with a secret.
    public let description: String
    private let place: Result<Backends.Target, SealiftError>
    private var credentials: S3Credentials?
    private var user: String?
    private var password: String?
    private var authorities: String?

    /// A folder, such as that of a mounted disk.
    /// - Parameter path: absolute.
    public static func folder(_ path: String) -> Target {
      guard path.hasPrefix("/") else { return Target(refusing: "the folder '\(path)' is not an absolute path") }
      return Target(url: path)
    }

    /// A bucket, or what lies below a prefix in it.
    ///
    /// - Parameters:
    ///   - bucket: is never made, and has to be there.
    ///   - prefix: comes before the name of every object, followed by a `/`.
    ///   - endpoint: the server, such as `https://s3.example.com`; Amazon's when `nil`.
    ///   - region: `us-east-1` when `nil`.
    ///   - style: how the bucket is named to the server; when `nil`, by path at other servers than Amazon's.
    ///   - storageClass: as the server calls it, such as `STANDARD_IA`; the bucket's own when `nil`.
    ///   - credentials: who we are to the server.
    ///   - authorities: a PEM file of certificate authorities to trust in place of the system's.
    public static func s3(
      bucket: String, prefix: String = "", endpoint: String? = nil, region: String? = nil, style: S3Style? = nil,
      storageClass: String? = nil, credentials: Credentials, authorities: String? = nil
    ) -> Target {
      // What stands behind it in a URL are options.
      guard !bucket.contains("?"), !prefix.contains("?") else {
        return Target(refusing: "a bucket or prefix has no question mark: '\(bucket)/\(prefix)'")
      }
      var target = Target(url: prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix)") {
        place throws(SealiftError) in
        guard case .s3(var location) = place else { return }
        if let endpoint {
          do throws(WebAddress.Refusal) { location.endpoint = try WebAddress(endpoint) } catch {
            throw SealiftError(refusing: "the endpoint \(error.reason)")
          }
        }
        location.region = region
        location.style = style.map { $0 == .path ? .path : .virtual }
        location.storageClass = storageClass
        place = .s3(location)
      }
      target.credentials = S3Credentials(
        accessKey: credentials.accessKey, secretKey: credentials.secretKey, sessionToken: credentials.sessionToken)
      target.authorities = authorities
      return target
    }

    /// A WebDAV collection.
    ///
    /// A password is never shown to a server over an unencrypted connection, but for one on this machine.
    /// - Parameters:
    ///   - url: such as `https://cloud.example.com/remote.php/dav/files/me/backup`, without user and password.
    ///   - user: who we are to the server; nobody when `nil`.
    ///   - password: of that user.
    ///   - authorities: a PEM file of certificate authorities to trust in place of the system's.
    public static func webDAV(
      _ url: String, user: String? = nil, password: String? = nil, authorities: String? = nil
    ) -> Target {
      let schemes = ["https://": "webdavs://", "http://": "webdav://"]
      guard let (scheme, ours) = schemes.first(where: { url.lowercased().hasPrefix($0.key) }) else {
        return Target(refusing: "the URL of a WebDAV collection begins with https:// or http://")
      }
      var target = Target(url: ours + url.dropFirst(scheme.utf8.count))
      (target.user, target.password, target.authorities) = (user, password, authorities)
      return target
    }

    /// How a bucket is named to its server.
    public enum S3Style: Sendable {
      /// `https://server/bucket/…`
      case path
      /// `https://bucket.server/…`
      case virtualHost
    }

    /// Who we are to an S3 server. Its description hides the secrets.
    public struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
      let accessKey: String
      let secretKey: String
      let sessionToken: String?

      /// - Parameters:
      ///   - id: the access key id.
      ///   - secret: the secret access key.
      ///   - sessionToken: only with temporary credentials.
      public static func keys(id: String, secret: String, sessionToken: String? = nil) -> Credentials {
        Credentials(accessKey: id, secretKey: secret, sessionToken: sessionToken)
      }

      public var description: String { "access key \(accessKey)" }
      public var debugDescription: String { description }
      public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
    }
  }
}

extension Repository.Target: CustomDebugStringConvertible, CustomReflectable {
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Repository.Target {
  /// What is wrong with a target is thrown when it is used.
  private init(
    url: String, _ complete: (inout Backends.Target) throws(SealiftError) -> Void = { _ throws(SealiftError) in }
  ) {
    do throws(SealiftError) {
      var place = try Self.parse(url)
      try complete(&place)
      self.place = .success(place)
      description = place.location
    } catch {
      place = .failure(error)
      description = "(no target)"
    }
  }

  private init(refusing message: String) {
    place = .failure(SealiftError(refusing: message))
    description = "(no target)"
  }

  private static func parse(_ url: String) throws(SealiftError) -> Backends.Target {
    do { return try TargetURL.parse(url) } catch {
      throw SealiftError(OperationError(.usage, code: "badTarget", error.message, hint: error.hint))
    }
  }

  /// The target as operations get it: each request waits for its turn, and is made again when that can help.
  /// - Parameter create: make its folder or collection when it is missing; else the first request tells that it is.
  /// - Throws: `SealiftError`, `StoreError`.
  func access(_ key: Repository.Key, _ options: Repository.Options, create: Bool = false) throws -> TargetAccess {
    let place = try place.get()
    var access = StoreAccess(now: { wallMilliseconds() / 1000 })
    access.create = create
    access.settings.caFile = authorities
    access.settings.uploadLimit = options.uploadLimit
    access.settings.downloadLimit = options.downloadLimit
    (access.user, access.password) = (user, password)
    if let credentials { access.credentials = { () async throws(StoreError) in credentials } }
    let throttled = ThrottledStore(
      try place.storeThereOrNot(access), upload: options.uploadLimit.map { LimitedRate(bytesPerSecond: $0) },
      download: options.downloadLimit.map { LimitedRate(bytesPerSecond: $0) })
    var policy = RetryingStore.Policy()
    policy.patience = options.patience
    let store = RetryingStore(
      throttled, policy: policy,
      willRetry: { [name = description] retry in
        options.onRemark("\(name): \(retry.error.message); trying again \(Times.after(retry.pause))")
      })
    return TargetAccess(name: description, store: store) { try await key.unlock() }
  }

  /// - Returns: `nil` for a bucket, which has to be there.
  /// - Throws: `SealiftError`.
  func maker(_ key: Repository.Key, _ options: Repository.Options) throws -> Initialize.Maker? {
    let place = try place.get()
    guard place.canBeMade else { return nil }
    return Initialize.Maker {
      try place.demandMakeable()
    } make: {
      try access(key, options, create: true)
    }
  }
}

extension SealiftError {
  fileprivate init(refusing message: String) { self.init(OperationError(.usage, code: "badTarget", message)) }
}
