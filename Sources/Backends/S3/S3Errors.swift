import Storage

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
}
