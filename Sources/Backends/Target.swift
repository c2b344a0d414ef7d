package import Storage

/// A place for repositories, as its URL tells it: everything but secrets.
package enum Target: Sendable, Hashable {
  case folder(path: String)
  case s3(S3Location)
  case webdav(WebAddress, user: String?)

  package struct S3Location: Sendable, Hashable {
    package var bucket: String
    package var prefix: String
    /// Amazon's when `nil`.
    package var endpoint: WebAddress?
    /// That of the credentials' profile, or `us-east-1`, when `nil`.
    package var region: String?
    package var style: S3Configuration.Style?
    package var storageClass: String?
    /// Of the shared credentials file.
    package var profile: String?
    /// What every object that is stored is locked with.
    package var objectLock: S3Configuration.ObjectLock?
    /// Whether a checksum goes along without a lock, too.
    package var sendsChecksum = false
  }
}

/// Finds the password of a server when it is needed first.
package typealias PasswordSearch = @Sendable () throws(StoreError) -> String

/// What a store needs beside its URL.
package struct StoreAccess: Sendable {
  /// Asked before each request to an S3 server.
  package var credentials: (@Sendable () async throws(StoreError) -> S3Credentials)?
  /// Asked when such a server takes them no longer.
  package var renewal: RenewableCredentials?
  /// For S3, when neither the URL nor its own default decides: the region that came with the credentials.
  package var region: String?
  /// For WebDAV; a user in the URL comes first.
  package var user: String?
  package var password: String?
  /// Asked for it before each request, in place of `password`.
  package var findPassword: PasswordSearch?
  package var allowPlainPassword = false
  package var settings = HTTPSettings()
  /// Make the target's folder or collection when it is missing. Buckets are never made.
  package var create = false
  /// Seconds since 1970 UTC.
  package var now: @Sendable () -> Int

  package init(now: @escaping @Sendable () -> Int) { self.now = now }
}

extension Target {
  /// The bare store of this target; retrying, limits and counting are wrapped around it by the caller.
  /// - Throws: `.noTarget` when a folder is missing, `.unauthenticated` when S3 has no credentials. Servers are not
  ///   asked yet.
  package func store(_ access: StoreAccess) throws(StoreError) -> any ObjectStore {
    switch self {
    case .folder(let path): return try FolderStore(path: path, create: access.create)
    case .webdav(let address, let user):
      var configuration = WebDAVConfiguration(
        address: address, user: user ?? access.user, password: access.password)
      configuration.allowPlainPassword = access.allowPlainPassword
      configuration.create = access.create
      configuration.findPassword = access.findPassword
      return WebDAVStore(configuration, settings: access.settings, now: access.now)
    case .s3(let location):
      guard let credentials = access.credentials else {
        throw StoreError(
          .unauthenticated, "there are no credentials for s3://\(location.bucket)",
          hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with AWS_PROFILE.")
      }
      return S3Store(
        location.configuration(region: access.region), settings: access.settings, now: access.now,
        renewal: access.renewal, credentials: credentials)
    }
  }

  /// As `store`; but a folder that is missing, or does not answer now, is told by the first request, as a server tells
  /// it.
  package func storeThereOrNot(_ access: StoreAccess) throws(StoreError) -> any ObjectStore {
    do throws(StoreError) {
      return try store(access)
    } catch {
      guard case .folder(let path) = self else { throw error }
      if error.code == .noTarget { return AbsentFolder(path: path, error) }
      // A share whose server starts anew: whoever tries requests again tries this one. Who wants folders made is to
      // look first: the mount may be away by then, and they would be made below it.
      guard error.retry != .never, !access.create else { throw error }
      return LateFolder(path: path)
    }
  }

  /// The same place for what is not to stay: nothing is locked, and a bucket that locks by itself still takes it.
  package var withoutLock: Target {
    guard case .s3(var location) = self, location.objectLock != nil else { return self }
    location.objectLock = nil
    location.sendsChecksum = true
    return .s3(location)
  }

  /// Whether `create` makes what is missing of it.
  package var canBeMade: Bool { if case .s3 = self { false } else { true } }

  /// Looks, for a place that is missing, whether it could be made. Servers are not asked.
  /// - Throws: what would stand in the way.
  package func demandMakeable() throws(StoreError) {
    guard case .folder(let path) = self else { return }
    try FolderStore.demandMakeable(path)
  }

  /// How people know it; never with a secret.
  package var location: String {
    switch self {
    case .folder(let path): "file://\(path)"
    case .webdav(let address, _): WebDAVConfiguration(address: address).location
    case .s3(let location):
      location.prefix.isEmpty ? "s3://\(location.bucket)" : "s3://\(location.bucket)/\(location.prefix)"
    }
  }
}

extension Target.S3Location {
  /// - Parameter region: when the URL names none.
  package func configuration(region fallback: String?) -> S3Configuration {
    let region = region ?? fallback ?? "us-east-1"
    let amazonStyle: S3Configuration.Style = isHostLabel ? .virtual : .path
    let amazon = WebAddress(amazonRegion: region)
    var configuration = S3Configuration(
      endpoint: endpoint ?? amazon, bucket: bucket, prefix: prefix, region: region,
      style: style ?? (endpoint == nil ? amazonStyle : .path), storageClass: storageClass)
    configuration.objectLock = objectLock
    configuration.sendsChecksum = sendsChecksum
    return configuration
  }

  /// Certificates of Amazon's names cover one label before them, and a host's name is the same in capitals: old buckets,
  /// whose names may have dots, capitals and `_`, need their path.
  private var isHostLabel: Bool {
    bucket.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }
}
