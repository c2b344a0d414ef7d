import Storage

/// Requests to one WebDAV server: where they go, how they log in, what their failures mean.
///
/// The first request finds out which login the server wants. After that Basic is sent along unasked, which saves a
/// round trip on each request; Digest is asked for each time, with an empty body the first time round.
struct WebDAVRequests: Sendable {
  let configuration: WebDAVConfiguration
  /// In bytes, of one collection: what the objects need that `Multistatus` takes.
  var longestListing = 256 << 20
  /// Until the first byte of a collection's entries: some servers ask their database for each of thousands before they
  /// say anything.
  var listingPatience = LongestListing.patience
  /// Until the answer to a PUT or a MOVE.
  var storingPatience = LongestStoring.patience

  /// Seconds since 1970 UTC.
  let now: @Sendable () -> Int
  private let client: HTTPClient
  private let logins = Locked(Logins())
  /// How this server has let itself be told where a resource goes; `nil` until it has.
  private let destination = Locked<MoveDestination?>(nil)

  /// What became known of the ways in.
  private struct Logins {
    var areAskedFor = false
    /// The best that it has offered; `nil` until it has refused a request.
    var best: HTTPLogin.Schemes?
  }

  init(_ configuration: WebDAVConfiguration, _ client: HTTPClient, now: @escaping @Sendable () -> Int) {
    self.configuration = configuration
    self.client = client
    self.now = now
  }

  /// The URL of what lies at `path` below the target's collection; collections end in `/`.
  func url(_ path: String) -> String { "\(configuration.address.text)/\(path)" }

  /// Whatever the server answers.
  func send(
    _ method: String, _ path: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
    largestAnswer: Int = 1 << 20, patience: Duration? = nil
  ) async throws(StoreError) -> HTTPResponse {
    try await send(
      method, at: url(path), headers: headers, body: body, largestAnswer: largestAnswer, patience: patience)
  }

  /// The object at `path`, or a part of it; whatever the server answers.
  func get(_ path: String, _ part: Range<Int>?) async throws(StoreError) -> HTTPResponse {
    var request = HTTPRequest("GET", url(path))
    if let part { request.headers = [("Range", "bytes=\(part.lowerBound)-\(part.upperBound - 1)")] }
    request.largestAnswer = HTTPRequest.largestAnswer(with: part)
    request.wanted = part
    return try await send(request)
  }

  /// - Parameter url: of anything at this server, also outside the target's collection.
  func send(
    _ method: String, at url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
    largestAnswer: Int = 1 << 20, patience: Duration? = nil
  ) async throws(StoreError) -> HTTPResponse {
    var request = HTTPRequest(method, url)
    request.headers = headers
    request.body = body
    request.largestAnswer = largestAnswer
    request.patience = patience
    return try await send(request)
  }

  private func send(_ request: HTTPRequest) async throws(StoreError) -> HTTPResponse {
    var request = request
    request.login = try await login()
    let response = try await client.send(request)
    if request.login != nil, !response.offered.isEmpty { learn(from: response) }
    return response
  }

  /// Gives a resource another name; whatever the server answers.
  ///
  /// Where it refuses the Destination in one form, and has taken none yet, it is asked once more in the other. It may
  /// have moved the resource and its answer may have been lost: then there is nothing left to move, and who stores it
  /// begins again.
  /// - Throws: `.unsupported` when it takes no form, and never will.
  func move(_ path: String, to other: String, overwriting: Bool) async throws(StoreError) -> HTTPResponse {
    let taken = destination.withLock { $0 }
    let form = taken ?? .url
    let first = try await move(path, to: other, overwriting, form)
    // Of a Destination that it understands, it is the name that it refuses, or it is away.
    guard taken == nil, MoveDestination.mayBeRefused(first.status) else {
      learn(form, from: first)
      return first
    }
    let second = try await move(path, to: other, overwriting, form.other)
    if MoveDestination.mayBeRefused(second.status) {
      let isUnderstood = destination.withLock { $0 } != nil
      guard !isUnderstood, MoveDestination.isRefusedForGood([first.status, second.status]) else { return first }
      throw MoveDestination.refusal(at: configuration.location)
    }
    learn(form.other, from: second)
    return second
  }

  /// Who moves something, or finds its name taken, has understood where it was to go.
  private func learn(_ form: MoveDestination, from response: HTTPResponse) {
    if [200, 201, 204, 412].contains(response.status) { destination.withLock { $0 = form } }
  }

  private func move(
    _ path: String, to other: String, _ overwriting: Bool, _ form: MoveDestination
  ) async throws(StoreError) -> HTTPResponse {
    let place = form == .url ? url(other) : "\(configuration.address.path)/\(other)"
    return try await send(
      "MOVE", path, headers: [("Destination", place), ("Overwrite", overwriting ? "T" : "F")],
      patience: storingPatience)
  }

  /// The resource and, with depth 1, what lies directly in it; `nil` when there is no such resource.
  func find(_ path: String, depth: Int) async throws(StoreError) -> Multistatus? {
    let response = try await look(at: path, depth: depth)
    switch response.status {
    case 207 where depth > 0 && response.hasNextPage: throw inPages(path)
    case 207: break
    case 404: return nil
    default:
      var error = error(response, "\(location(path)) could not be looked at", for: .list)
      // A page, perhaps of what stands between.
      if error.code == .badAnswer { error.retry = .once }
      throw error
    }
    let answer: Multistatus
    do { answer = try Multistatus(response.body) } catch { throw refused(error, path) }
    guard !answer.resources.contains(where: \.isUnfinished) else { throw unfinished(path) }
    // Of a child, or beside others, a status of its own is an error like any other.
    guard let only = answer.resources.first, answer.resources.count == 1, isOf(path, only) else { return answer }
    if only.isAbsent { return nil }
    if only.isBare == true { throw oldModule(path) }
    return answer
  }

  private func isOf(_ path: String, _ resource: Multistatus.Resource) -> Bool {
    let address = configuration.address
    let asked = try? CollectionListing.place(of: "\(address.path)/\(path)", at: address).path
    let told = try? CollectionListing.place(of: resource.href, at: address)
    return told.map { !$0.isForeign && $0.path == asked } ?? false
  }

  private func look(at path: String, depth: Int) async throws(StoreError) -> HTTPResponse {
    do throws(StoreError) {
      return try await send(
        "PROPFIND", path, headers: [("Depth", String(depth)), ("Content-Type", "application/xml")],
        body: Array(Multistatus.question.utf8), largestAnswer: depth == 0 ? 1 << 20 : longestListing,
        patience: depth == 0 ? nil : listingPatience)
    } catch {
      // No second time: it would take as long, and come to the same.
      if depth > 0, (error.cause as? Stall)?.time == listingPatience {
        throw StoreError(
          .unavailable, "\(location(path)) could not be listed: \(error.message)", hint: Self.wayOutOfTooMany)
      }
      // Too long is the only answer without sense that comes without a hint.
      guard depth > 0, error.code == .badAnswer, error.hint == nil else { throw error }
      throw StoreError(
        .badAnswer, "\(location(path)) could not be listed: \(error.message)", hint: Self.wayOutOfTooMany)
    }
  }

  /// Nothing can be pushed, read or pruned any more where a collection cannot be listed.
  private static let wayOutOfTooMany =
    "There are too many objects in one collection. Stop all pushes of that database, and make room in its folder on "
    + "the server: `sealift --target file:///path forget NAME --all-hosts --keep-daily 14`, then "
    + "`sealift --target file:///path prune NAME --one-run` (`Docs/Stores.md`)."

  func error(_ response: HTTPResponse, _ what: String, for right: AccessRight) -> StoreError {
    let hasOffered = logins.withLock { $0.best } != nil
    return WebDAVErrors(configuration: configuration, now: now(), hasOfferedLogin: hasOffered)
      .error(response, what, for: right)
  }

  func refused(_ refusal: XMLRefusal, _ path: String) -> StoreError {
    StoreError(
      .badAnswer, "what the server tells of \(location(path)) was refused: \(refusal.reason)",
      hint: refusal == .tooManyResources ? Self.wayOutOfTooMany : wayOutOfNonsense,
      // So many are as many the next time.
      retry: refusal == .tooManyResources ? .never : .once)
  }

  private var wayOutOfNonsense: String {
    guard configuration.address.path.contains("/remote.php/webdav") else {
      return "Check that the target's URL is one of WebDAV, and what stands between."
    }
    return "Nextcloud has another path: write /remote.php/dav/files/USER in the place of /remote.php/webdav in the"
      + " target's URL, with the name of the user."
  }

  /// The first page must not pass for the whole listing: what is not in it would count as lost, or as never stored.
  private func inPages(_ path: String) -> StoreError {
    StoreError(
      .unsupported, "\(location(path)) could not be listed: the server gives listings in pages",
      hint: "Use another kind of target: a listing that is short could lose versions. What is stored here is all there:"
        + " get the whole folder with the provider's own program, and read it as file:///path.")
  }

  /// A 404 of no property at all is that module's word for whatever it cannot look at; of a folder that it cannot read
  /// it says nothing, and gives what it has. That must pass neither for absence nor for a whole listing.
  private func oldModule(_ path: String) -> StoreError {
    StoreError(
      .unsupported,
      "\(location(path)) could not be looked at: the server's nginx has an old WebDAV module (dav-ext), whose listings"
        + " may be short",
      hint: "Update the server's nginx-dav-ext-module, or use another kind of target: a listing that is short could"
        + " lose versions.")
  }

  private func unfinished(_ path: String) -> StoreError {
    StoreError(
      .unavailable, "the server is not done with what was stored at \(location(path)) (425 Too Early)",
      hint: "Do the same again in a while. If that does not help, look at what checks uploads on the server.",
      retry: .later(after: nil), cause: Unfinished())
  }

  /// As people know it.
  func location(_ path: String) -> String {
    path.isEmpty ? configuration.location : "\(configuration.location)/\(path)"
  }

  private func login() async throws(StoreError) -> HTTPLogin? {
    guard let user = configuration.user else { return nil }
    let password = try password()
    if !logins.withLock({ $0.areAskedFor }) {
      // A small question without a login, so that no large body is sent in vain.
      var question = HTTPRequest("OPTIONS", url(""))
      question.largestAnswer = 1 << 20
      let response = try await client.send(question)
      if response.status == 401 { learn(from: response) }
      logins.withLock { $0.areAskedFor = true }
    }
    // A server that lets anybody ask may still want a login for the rest: libcurl picks the best it is offered.
    return HTTPLogin(user: user, password: password, schemes: logins.withLock { $0.best } ?? configuration.schemes)
  }

  private func password() throws(StoreError) -> String {
    guard let find = configuration.findPassword else { return configuration.password ?? "" }
    return try find()
  }

  /// Takes the best way in of those that the server offers, once. Who names others only gets no password; what is asked
  /// next may be answered otherwise. Who names none at all may well take one.
  private func learn(from response: HTTPResponse) {
    guard !response.offered.isEmpty || !response.namesLogins else { return }
    let best: HTTPLogin.Schemes =
      response.offered.contains(.digest) || !configuration.schemes.contains(.basic) ? .digest : .basic
    logins.withLock { $0.best = $0.best ?? best }
  }
}
