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
      // Stored a moment ago, or the first answer was not the server's.
      response = try await send(Request("HEAD", name))
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

  /// - Parameter patience: as of `HTTPRequest`; `nil` where it is about a single object.
  private func list(prefix: String, patience: Duration?) async throws(StoreError) -> [ObjectInfo] {
    var listing = S3Listing(configuration, prefix: prefix)
    var token: String?
    repeat {
      let page = try await page(prefix: prefix, token: token, size: configuration.pageSize, patience: patience)
      do { try listing.add(page) } catch { throw unreadable(error, prefix) }
      token = page.next
    } while token != nil
    return listing.objects
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
}

extension S3Store {
  /// - Parameter patience: as of `HTTPRequest`; `nil` where it is about a single object.
  private func page(
    prefix: String, token: String?, size: Int, patience: Duration? = nil
  ) async throws(StoreError) -> S3ListingPage {
    var request = Request("GET", nil)
    request.query = [
      ("list-type", "2"), ("encoding-type", "url"), ("max-keys", String(size)), ("prefix", configuration.key(prefix)),
    ]
    if let token { request.query.append(("continuation-token", token)) }
    request.largestAnswer = 16 << 20
    request.patience = patience
    let response = try await answer(request)
    guard response.status == 200, S3Refusal(response.body) == nil else {
      let error = error(response, "the objects at \(traits.location) could not be listed", for: .list)
      guard error.code == .notFound else { throw error }
      throw StoreError(.noTarget, error.message, hint: "Create the bucket first, and check its name and endpoint.")
    }
    do { return try S3ListingPage(response.body) } catch { throw unreadable(error, prefix) }
  }

  /// - Throws: where it took too long, with the way out. Once more and no longer: a server that hung may be well again;
  ///   one with much to look through would take as long each time.
  private func answer(_ request: Request) async throws(StoreError) -> HTTPResponse {
    do throws(StoreError) {
      return try await send(request)
    } catch {
      guard let patience = request.patience, (error.cause as? Stall)?.time == patience else { throw error }
      throw StoreError(
        .unavailable, "the objects at \(traits.location) could not be listed: \(error.message)",
        hint: LongestListing.wayPastSilence, retry: .once)
    }
  }

  /// - Returns: `nil` where no answer came to a PUT that was taken, and these very bytes are there, so that they need not be
  ///   sent anew. Not under a lock: what lay there before may have an older one.
  private func answer(
    _ request: Request, storing body: ObjectBody, at name: ObjectName
  ) async throws(StoreError) -> HTTPResponse? {
    do throws(StoreError) {
      return try await send(request)
    } catch {
      guard (error.cause as? Stall)?.isOfAnswer == true, configuration.objectLock == nil, await holds(body, at: name)
      else { throw error }
      return nil
    }
  }

  /// Alibaba says it with 400. Cloudflare says the same of a lock that it does not know: conditions have no part in that.
  private static func refusesConditions(_ response: HTTPResponse) -> Bool {
    let refusal = S3Refusal(response.body)
    guard refusal?.namesLock != true else { return false }
    return response.status == 501 || response.status == 400 && refusal?.code == "NotImplemented"
  }

  /// Whether these very bytes are there. What keeps that from being seen is no news beside the refusal before it.
  private func holds(_ body: ObjectBody, at name: ObjectName) async -> Bool {
    do throws(StoreError) {
      guard try await head(name)?.size == body.bytes.count else { return false }
      return sameBytes(try await get(name, range: nil), body.bytes)
    } catch {
      return false
    }
  }

  /// The name is taken: fine when by the very same bytes.
  private func compare(_ body: ObjectBody, with name: ObjectName) async throws(StoreError) {
    guard try await head(name)?.size == body.bytes.count, sameBytes(try await get(name, range: nil), body.bytes) else {
      throw .taken(name)
    }
  }

  /// Who may list only below a prefix is told "forbidden" of an object that is not there: so policies are commonly written,
  /// and a HEAD has no prefix. Its name as a prefix is a question that may be asked.
  /// - Returns: the object, or nothing; `nil` when that may not be asked either.
  private func listed(_ name: ObjectName) async throws(StoreError) -> [ObjectInfo]? {
    do throws(StoreError) {
      return try await list(prefix: name.text, patience: nil).filter { $0.name == name }
    } catch  where error.code == .forbidden {
      return nil
    }
  }

  /// Whether the server lists it. That it lists at all proves that it is there, and the bucket, too.
  private func isListed(_ name: ObjectName) async throws(StoreError) -> Bool {
    do throws(StoreError) {
      let first = try await page(prefix: name.text, token: nil, size: 1)
      return first.objects.contains { $0.key == configuration.key(name.text) }
    } catch {
      // Storj lists no single object of a large folder. Its own word for what is not there is as good.
      guard error.code == .unsupported, let found = try await isThere(name) else { throw error }
      return found
    }
  }

  /// Whether the server gives an object, or says itself that there is none; `nil` when it may be a proxy that says so.
  private func isThere(_ name: ObjectName) async throws(StoreError) -> Bool? {
    let response = try await firstByte(of: name)
    switch response.status {
    // One without a first byte is there, too.
    case 200, 206, 416: return true
    case 404 where S3Refusal(response.body)?.code == "NoSuchKey": return false
    default: return nil
    }
  }

  /// Proxies answer 404 as well while the server behind them is away, and some servers say no more than that of what is
  /// not there. So whatever is not S3's own word for it counts when a listing bears it out.
  /// - Throws: `.unavailable` when the object is listed; what keeps the listing from being made.
  private func confirmAbsence(of name: ObjectName, after response: HTTPResponse) async throws(StoreError) {
    guard S3Refusal(response.body)?.code != "NoSuchKey", try await isListed(name) else { return }
    throw contradicted(name)
  }

  private func contradicted(_ name: ObjectName) -> StoreError {
    StoreError(
      .unavailable, "\(traits.location) said that there is no \(name), and lists it",
      hint: "Do the same again in a while. If that does not help, look for a proxy on the way.",
      retry: .later(after: nil))
  }

  private func confirmSize(_ size: Int, of name: ObjectName) async throws(StoreError) {
    let held = try await head(name)?.size
    guard held == size else {
      let seen = held.map { "\($0) bytes" } ?? "nothing"
      throw StoreError(
        .badAnswer, "\(size) bytes were stored as \(name) and \(traits.location) holds \(seen)",
        retry: .later(after: nil))
    }
  }

  /// Why a HEAD was refused. Who asked that may have got other credentials by it, and then the HEAD goes through as well.
  private func lookAgain(
    at name: ObjectName, after response: HTTPResponse, to asked: S3Credentials
  ) async throws(StoreError) -> ObjectInfo? {
    let why = try await explanation(of: response, for: name)
    guard try await credentials() != asked else { throw why }
    return try await head(name)
  }

  /// A refused HEAD has no body that says why; the same question as a GET has one.
  private func explanation(of response: HTTPResponse, for name: ObjectName) async throws(StoreError) -> StoreError {
    let second = try await firstByte(of: name)
    return error(
      second.status >= 400 ? second : response, "\(name) could not be looked at at \(traits.location)", for: .read)
  }

  private func firstByte(of name: ObjectName) async throws(StoreError) -> HTTPResponse {
    var request = Request("GET", name)
    request.headers.append(("Range", "bytes=0-0"))
    return try await send(request)
  }

  func error(_ response: HTTPResponse, _ what: String, for right: AccessRight) -> StoreError {
    S3Errors(configuration: configuration, now: now(), source: learned.withLock { $0.source })
      .error(response, what, for: right)
  }

  func unreadable(_ refusal: XMLRefusal, _ prefix: String) -> StoreError {
    let otherwise =
      refusal == .endless
      ? LongestListing.wayPastMarkers : "Check that the endpoint is that of an S3 server with ListObjectsV2."
    return StoreError(
      .badAnswer, "the listing of \(traits.location) was refused: \(refusal.reason)",
      hint: refusal == .tooManyResources ? LongestListing.wayOut(prefix) : otherwise,
      // What took so many pages takes as many the next time.
      retry: [.tooManyResources, .endless].contains(refusal) ? .never : .once)
  }
}
