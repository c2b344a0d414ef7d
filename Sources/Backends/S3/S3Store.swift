package import Storage

/// Objects in a bucket of an S3 server: Amazon's, or any other that checks version 4 signatures.
///
/// One PUT for one object, its hash signed; no multipart uploads, no trailers, nothing that only some servers know.
package struct S3Store: ObjectStore {
  package let traits: StoreTraits
  let configuration: S3Configuration
  let credentials: @Sendable () async throws(StoreError) -> S3Credentials
  let renewal: RenewableCredentials?
  let client: HTTPClient
  /// Seconds since 1970 UTC.
  let now: @Sendable () -> Int
  let learned = Locked(Learned())
  /// Until the first byte of a page: a run of delete markers is gone through before the server says anything. Tests
  /// make it small.
  var listingPatience = LongestListing.patience
  /// Until the answer to a PUT. Tests make it small.
  var storingPatience = LongestStoring.patience
  /// Tests put their own in its place.
  var clock = StoreClock.system

  /// What the server has shown so far.
  struct Learned {
    var refusesConditions = false
    /// Of the credentials that were sent last.
    var source = S3Credentials.Source.target
  }

  /// - Parameters:
  ///   - conditionalPut: the server is known to decide `If-None-Match: *` in one step. It is sent in any case, but
  ///     some servers ignore it.
  ///   - now: seconds since 1970 UTC; signatures carry it.
  ///   - renewal: asked for others when the server takes these no longer; then the request is made once more.
  ///   - credentials: asked before each request, so that they may change.
  package init(
    _ configuration: S3Configuration, conditionalPut: Bool = false, settings: HTTPSettings = HTTPSettings(),
    now: @escaping @Sendable () -> Int, renewal: RenewableCredentials? = nil,
    credentials: @escaping @Sendable () async throws(StoreError) -> S3Credentials
  ) {
    self.configuration = configuration
    self.credentials = credentials
    self.renewal = renewal
    self.now = now
    client = HTTPClient(settings)
    traits = StoreTraits(
      location: configuration.location, identity: "\(configuration.location) at \(configuration.endpoint.text)",
      concurrency: settings.concurrency, conditionalPut: conditionalPut)
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    if ifAbsent, try await head(name) != nil { return try await compare(body, with: name) }
    var request = Request("PUT", name)
    request.body = body
    request.patience = storingPatience
    if let storageClass = configuration.storageClass { request.headers.append(("x-amz-storage-class", storageClass)) }
    request.headers += configuration.lockHeaders(now: now(), body: body.bytes)
    let isConditional = ifAbsent && !learned.withLock { $0.refusesConditions }
    if isConditional { request.headers.append(("If-None-Match", "*")) }
    guard let response = try await answer(request, storing: body, at: name) else { return }
    let what = "\(name) could not be stored at \(traits.location)"
    switch response.status {
    case 200, 201, 204:
      // Some proxies answer 200 before they know how it ends.
      if S3Refusal(response.body) != nil { throw error(response, what, for: .write) }
    case 412 where isConditional: return try await compare(body, with: name)
    case _ where isConditional && Self.refusesConditions(response):
      learned.withLock { $0.refusesConditions = true }
      return try await put(body, at: name, ifAbsent: true)
    default:
      let refused = error(response, what, for: .write)
      // Nothing may be replaced in some buckets: then it is ours, of a PUT whose answer was lost.
      guard refused.code == .forbidden, await holds(body, at: name) else { throw refused }
      return
    }
    try await confirmSize(body.bytes.count, of: name)
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    if let range, range.isEmpty { return try await emptyPart(at: range.lowerBound, of: name) }
    var request = Request("GET", name)
    request.largestAnswer = HTTPRequest.largestAnswer(with: range)
    request.wanted = range
    if let range { request.headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")) }
    let response = try await send(request)
    switch (response.status, range) {
    case (200, nil): return response.body
    case (200, let range?), (206, let range?): return try response.part(range, of: name)
    case (403, _):
      if let found = try await listed(name), found.isEmpty {
        throw StoreError(.notFound, "there is no \(name) at \(traits.location)")
      }
      throw error(response, "\(name) could not be read at \(traits.location)", for: .read)
    case (404, _) where S3Refusal(response.body)?.code != "NoSuchBucket":
      try await confirmAbsence(of: name, after: response)
      throw StoreError(.notFound, "there is no \(name) at \(traits.location)")
    default: throw error(response, "\(name) could not be read at \(traits.location)", for: .read)
    }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    let asked = try await credentials()
    var response = try await send(Request("HEAD", name))
    // Without a body, "no such object" and "no such bucket" look the same, and so does a proxy whose server is away.
    if response.status == 404 {
      guard try await isListed(name) else { return nil }
      response = try await lookForListed(name)
    }
    switch response.status {
    case 200:
      guard let size = response.header("content-length").flatMap({ Int($0) }), size >= 0 else {
        throw .strange("\(traits.location) does not tell the size of \(name)")
      }
      return ObjectInfo(name: name, size: size)
    case 404: throw contradicted(name)
    case 403:
      if let found = try await listed(name) { return found.first }
      return try await lookAgain(at: name, after: response, to: asked)
    case 400: return try await lookAgain(at: name, after: response, to: asked)
    default: throw error(response, "\(name) could not be looked at at \(traits.location)", for: .read)
    }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await list(prefix: prefix, patience: listingPatience)
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    let response = try await send(Request("DELETE", name))
    switch response.status {
    case 204: if response.header("x-amz-delete-marker") == "true" { traits.hidden.note() }
    case 404 where S3Refusal(response.body)?.code != "NoSuchBucket":
      try await confirmAbsence(of: name, after: response)
    // A proxy or a portal answers 200, too, to whatever it is asked.
    case 200 where S3Refusal(response.body) == nil: try await demandGone(name)
    default: throw error(response, "\(name) could not be deleted at \(traits.location)", for: .delete)
    }
  }

  func error(_ response: HTTPResponse, _ what: String, for right: AccessRight) -> StoreError {
    S3Errors(configuration: configuration, now: now(), source: learned.withLock { $0.source })
      .error(response, what, for: right)
  }
}
