import Storage

/// The body of an S3 error.
struct S3Refusal: Sendable {
  var code = ""
  var message = ""
  /// Where the bucket is said to be, in a redirect or a wrong signature's scope.
  var region: String?
  var endpoint: String?

  /// What servers say of a session token that was good once.
  static let endsOfTokens: Set<String> = [
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidTokenId", "SecurityTokenExpired",
    "TokenRefreshRequired",
  ]

  /// What servers say of a signature whose time is not theirs.
  static let skews: Set<String> = ["RequestTimeTooSkewed", "RequestExpired", "ExpiredRequest"]

  /// What servers say of an object that a rule of its whole bucket keeps. Cloudflare's has status 409 or 403, Alibaba's
  /// 409.
  static let keptByRules: Set<String> = [
    "ObjectLockedByBucketPolicy", "RetentionPolicyNotMet", "ObjectUnderActiveHold", "FileImmutable",
  ]

  /// Whether other credentials may be taken where these were not. Of temporary ones some servers forget the key, too.
  func isEnd(of credentials: S3Credentials) -> Bool {
    Self.endsOfTokens.contains(code) || credentials.sessionToken != nil && code == "InvalidAccessKeyId"
  }

  /// It speaks of locks, each server in its own spelling: "Object Lock", "ObjectLockConfiguration", "object-lock-mode".
  var namesLock: Bool {
    let words = message.lowercased()
    return words.contains("retention") || words.filter { $0 != " " && $0 != "-" }.contains("objectlock")
  }

  /// `nil` when the body is no `<Error>`.
  init?(_ body: [UInt8]) {
    guard !body.isEmpty, let document = try? XMLReader.read(body, into: Document()), document.isError else {
      return nil
    }
    code = document.values["Code"] ?? ""
    message = document.values["Message"] ?? ""
    region = document.values["Region"]
    endpoint = document.values["Endpoint"]
  }

  private struct Document: XMLReader.Listener {
    /// Amazon shows all that was signed, with the session token in it, three characters a byte.
    static let longestText = 1 << 20
    var isError = false
    var values: [String: String] = [:]

    mutating func began(_ name: XMLName, depth: Int) {
      if depth == 1 { isError = name.local == "Error" }
    }

    mutating func ended(_ name: XMLName, text: String, depth: Int) {
      if depth == 2 { values[name.local] = text.trimmed }
    }
  }
}

/// The one table from an S3 server's status and code to meanings.
struct S3Errors {
  var configuration: S3Configuration
  /// Seconds since 1970 UTC.
  var now: Int
  /// Where the credentials came from that were sent.
  var source = S3Credentials.Source.target

  /// - Parameters:
  ///   - what: what was to be done: "packs/x could not be stored".
  ///   - right: what the request needs.
  func error(_ response: HTTPResponse, _ what: String, for right: AccessRight) -> StoreError {
    let refusal = S3Refusal(response.body)
    let code = refusal?.code ?? ""
    let said = code.isEmpty ? "status \(response.status)" : "\(code) (status \(response.status))"
    let words = refusal.map { $0.message.quotable } ?? ""
    var error = meaning(of: code, response, refusal, right) ?? meaning(of: response, refusal, right)
    error.message = "\(what): \(error.message); the server said \(said)" + (words.isEmpty ? "" : ": \(words)")
    return error
  }

  private func meaning(
    of code: String, _ response: HTTPResponse, _ refusal: S3Refusal?, _ right: AccessRight
  ) -> StoreError? {
    switch code {
    case "SignatureDoesNotMatch":
      return StoreError(
        .unauthenticated, "the secret key does not fit the access key",
        hint: "Check \(source.secretKey) for missing or added characters.\(isAmazons ? "" : Self.orProxy)")
    case "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException":
      return StoreError(
        .unauthenticated, "the access key is not known",
        hint: "Check \(source.accessKey), and the target's endpoint.")
    case _ where S3Refusal.endsOfTokens.contains(code):
      return StoreError(
        .unauthenticated, "the session token is not valid any more",
        hint: "Get new temporary credentials, and renew \(source.sessionToken) and both keys with them.")
    case _ where S3Refusal.skews.contains(code): return skew(response)
    // Amazon's newer regions say the second, Cloudflare the third.
    case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidRegionName":
      return wrongRegion(refusal)
    case "AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden": return forbidden(right, refusal)
    case _ where S3Refusal.keptByRules.contains(code):
      return StoreError(
        .forbidden, "a rule of the bucket keeps the object as it is",
        hint: "Wait until the rule lets go of it, or take the rule away: nothing is replaced or deleted there before.")
    case "NoSuchBucket", "InvalidBucketName": return noBucket
    case "NoSuchKey": return StoreError(.notFound, "there is no such object")
    // Storj's, of an account that has had its share; elsewhere a server says so that is busy.
    case "BandwidthLimitExceeded" where response.status == 403: return Self.noTraffic
    case "SlowDown", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded": return tooMany(response)
    // What manages the bucket's key has words of its own: "KMS.ThrottlingException".
    case _ where code.contains("Throttling"): return tooMany(response)
    case "KMS.DisabledException", "KMS.KMSInvalidStateException", "KMS.NotFoundException":
      return StoreError(
        .forbidden, "the key that the bucket encrypts with cannot be used",
        hint: "Enable it, or cancel its deletion: without it, what it has encrypted cannot be read again.")
    case "InternalError", "ServiceUnavailable", "OperationAborted", "RequestTimeout", "ConditionalRequestConflict":
      return StoreError(.unavailable, "the server could not do it now", retry: later(response))
    case "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "InvalidDigest":
      return StoreError(.unavailable, "the body arrived damaged", retry: later(response))
    case "QuotaExceeded", "InsufficientStorage", "InsufficientCapacity", "XMinioStorageFull",
      "XMinioAdminBucketQuotaExceeded", "StorageLimitExceeded", "SegmentsLimitExceeded":
      return Self.full
    case "EntityTooLarge": return StoreError.bodyTooLarge
    case "PermanentRedirect", "TemporaryRedirect", "Redirect": return redirected(refusal, response)
    case "SecondLevelDomainForbidden":
      return StoreError(
        .unsupported, "the server wants the bucket in the host's name", hint: "Set the target's style to virtual.")
    case "InvalidRange": return StoreError(.badRange, "the range lies outside the object")
    case "PreconditionFailed": return StoreError(.exists, "the name is taken")
    case "InvalidRequest" where asksForChecksum(refusal):
      return StoreError(
        .unsupported, "the bucket locks what is stored by itself, and takes nothing without a checksum",
        hint: "Set objectLock of the target (`Docs/Stores.md`): then the checksum goes along.")
    case "InvalidRequest" where isAboutLock(refusal): return Self.noLock
    case "InvalidBucketState" where isAboutLock(refusal): return Self.noLock
    // Without a word of it, it is about something else.
    case "NotImplemented" where isAboutLock(refusal) && refusal?.namesLock == true: return Self.noLock
    case "InvalidArgument" where isAboutLock(refusal):
      return StoreError(
        .unsupported, "the server does not take the lock",
        hint: "Change objectLock of the target, or remove it.")
    case "InvalidObjectState":
      return StoreError(
        .unreadable, "the object lies in an archive and cannot be read there",
        hint: "Have the server bring all objects below the prefix back to a class that is read at once, and take away"
          + " the lifecycle rule or the storage class that put them there.")
    case "InvalidStorageClass":
      return StoreError(
        .unsupported, "the storage class is not known here",
        hint: "Remove the target's storage class, or name one that this server has.")
    case "NotImplemented", "MethodNotAllowed":
      return StoreError(.unsupported, "the server cannot do this", hint: "Run `sealift doctor` to see what it can do.")
    default: return nil
    }
  }

  /// Nothing stands before it that anybody here has set up.
  private var isAmazons: Bool { configuration.endpoint == WebAddress(amazonRegion: configuration.region) }

  private static let orProxy =
    " If they are right: a proxy before the server must pass the Host header and the path on unchanged."

  /// What Amazon says of a bucket with a default retention, whatever the target is set to.
  private func asksForChecksum(_ refusal: S3Refusal?) -> Bool {
    refusal?.message.lowercased().contains("object lock parameters") ?? false
  }

  /// Amazon says so; Ceph says nothing.
  private func isAboutLock(_ refusal: S3Refusal?) -> Bool {
    guard configuration.objectLock != nil, let refusal else { return false }
    return refusal.message.isEmpty || refusal.namesLock
  }

  private static let noLock = StoreError(
    .unsupported, "the bucket takes no object lock",
    hint: "Make a bucket with Object Lock enabled, or remove objectLock from the target.")

  private func meaning(of response: HTTPResponse, _ refusal: S3Refusal?, _ right: AccessRight) -> StoreError {
    switch response.status {
    case 300..<400: redirected(refusal, response)
    case 401:
      StoreError(
        .unauthenticated, "the credentials were refused", hint: "Check \(source.accessKey) and \(source.secretKey).")
    case 403 where !response.body.isEmpty && refusal?.code.isEmpty ?? true:
      StoreError(
        .unavailable, "something in front of the S3 server does not allow it",
        hint: "A proxy or a filter on the way refuses the request: ask whoever runs it.", retry: .never)
    case 403: forbidden(right, refusal)
    case 404 where refusal?.code.isEmpty ?? true: notOfS3(response)
    case 404: StoreError(.notFound, "there is no such object")
    case 407: StoreError.proxyLogin
    case 408, 425, 500, 502, 504: StoreError(.unavailable, "the server failed", retry: later(response))
    case 409: StoreError(.unavailable, "another request was in the way", retry: later(response))
    case 412: StoreError(.exists, "the name is taken")
    case 413: StoreError.bodyTooLarge
    case 507: Self.full
    case 416: StoreError(.badRange, "the range lies outside the object")
    case 429: StoreError(.throttled, "the server wants fewer requests", retry: later(response))
    case 501, 405: StoreError(.unsupported, "the server cannot do this", hint: "Check that the endpoint speaks S3.")
    case 503: StoreError(.throttled, "the server is busy", retry: later(response))
    case 505...: StoreError(.unavailable, "the server failed", retry: later(response))
    default:
      StoreError(.badAnswer, "the answer makes no sense", hint: "Check that the endpoint is that of an S3 server.")
    }
  }

  private func tooMany(_ response: HTTPResponse) -> StoreError {
    StoreError(.throttled, "the server wants fewer requests", retry: later(response))
  }

  private func forbidden(_ right: AccessRight, _ refusal: S3Refusal?) -> StoreError {
    if let limit = Self.limit(refusal, right) { return limit }
    if refusal?.message.contains("kms:") == true { return Self.noKey }
    let hint =
      switch right {
      case .list: "Give this key the right to list the bucket (s3:ListBucket)."
      case .read:
        "Give this key the right to read objects (s3:GetObject). Without s3:ListBucket, servers say the same of what is"
          + " not there."
      case .write where configuration.objectLock != nil:
        "Give this key the rights to store and to lock objects (s3:PutObject and s3:PutObjectRetention); the latter is"
          + " for the target's objectLock."
      case .write: "Give this key the right to store objects (s3:PutObject)."
      case .delete: "\(AccessRight.deletion) Run this with a key that has s3:DeleteObject."
      }
    return StoreError(.forbidden, "the server does not allow it", hint: hint)
  }

  /// Amazon names the action that it missed: who may use the bucket need not be allowed to use its key.
  private static let noKey = StoreError(
    .forbidden, "the server does not allow it",
    hint: "Give this key the rights kms:GenerateDataKey and kms:Decrypt of the KMS key that the bucket encrypts with.")

  /// Garage and Backblaze refuse what goes beyond a limit as they refuse what is not allowed: only the words differ.
  private static func limit(_ refusal: S3Refusal?, _ right: AccessRight) -> StoreError? {
    let words = refusal?.message.lowercased() ?? ""
    if words.contains("cap exceeded") { return right == .write ? full : noTraffic }
    return right == .write && words.contains("quota is reached") ? full : nil
  }

  /// The way out of a bucket without room: where it keeps versions, what is deleted goes on to take its room.
  static let makeRoom =
    "`sealift forget`, then `sealift prune` free space, unless the bucket keeps older versions (Backblaze's do, and"
    + " every bucket with Object Lock): there only a lifecycle rule for noncurrent versions does. Both store small"
    + " records first: raise the quota, or free a few MiB there by other means, for as long as that takes."

  private static let full = StoreError(.full, "there is no room for it", hint: makeRoom)

  private static let noTraffic = StoreError(
    .full, "the account's traffic limit is used up",
    hint: "Raise the limit where the account is kept, or wait until its next period begins.")

  private var noBucket: StoreError {
    StoreError(
      .noTarget, "there is no bucket \(configuration.bucket)",
      hint: "Create the bucket first, and check its name, endpoint and region.")
  }

  /// An S3 server has a code for everything that it has not. Proxies have none while the server behind them is away.
  private func notOfS3(_ response: HTTPResponse) -> StoreError {
    StoreError(
      .unavailable, "something in front of the S3 server answered, or the endpoint is none",
      hint: "Try again when the server behind the proxy is back. If that does not help, check the target's endpoint.",
      retry: later(response))
  }

  private func later(_ response: HTTPResponse) -> StoreError.Retry {
    .later(after: HTTPTime.retryAfter(response, now: now))
  }

  private func skew(_ response: HTTPResponse) -> StoreError {
    let distance = response.header("date").flatMap(HTTPTime.seconds).map { now - $0 }
    let how = distance.map { " by \(abs($0)) seconds" } ?? ""
    return StoreError(
      .clockSkew, "the clocks of this machine and of the server differ too much\(how)",
      hint: "Set this machine's clock, for instance with `timedatectl set-ntp true`.")
  }

  private func wrongRegion(_ refusal: S3Refusal?) -> StoreError {
    let expected = refusal?.region.map { $0.quotable }
    return StoreError(
      .unauthenticated, "the region \(configuration.region) is not the bucket's",
      hint: expected.map { "Set the target's region to \($0)." } ?? Self.findRegion)
  }

  private static let findRegion =
    "Set the target's region to the bucket's (`auto` at Cloudflare); AWS_REGION and the profile's region count where"
    + " the target names none."

  private func redirected(_ refusal: S3Refusal?, _ response: HTTPResponse) -> StoreError {
    let region = (response.header("x-amz-bucket-region") ?? refusal?.region).map { "region \($0.quotable)" }
    let endpoint = refusal?.endpoint.map { "endpoint \($0.quotable)" }
    let place = [region, endpoint].compactMap { $0 }.joined(separator: ", ")
    return StoreError(
      .redirected, "the server sends us elsewhere, and that is never followed",
      hint: place.isEmpty
        ? "Check endpoint, region and style (path or virtual) of the target."
        : "The server names this place for the bucket: \(place); set it in the target if you trust it.")
  }
}
