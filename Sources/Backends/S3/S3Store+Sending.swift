import Storage

extension S3Store {
  /// A request before it is signed.
  struct Request {
    var method: String
    /// Of the bucket itself when `nil`.
    var name: ObjectName?
    var query: [(name: String, value: String)] = []
    var headers: [(name: String, value: String)] = []
    var body: ObjectBody?
    var largestAnswer = 1 << 20
    /// As of `HTTPRequest`.
    var wanted: Range<Int>?
    /// As of `HTTPRequest`.
    var patience: Duration?

    init(_ method: String, _ name: ObjectName?) {
      self.method = method
      self.name = name
    }

    /// SHA-256 of the body, or of nothing.
    var payloadHash: String { Signature.hex(body?.sha256 ?? Signature.sha256(body?.bytes ?? [])) }
  }

  /// Once more, with others, when the credentials have ended: such an answer says that nothing was done.
  func send(_ request: Request) async throws(StoreError) -> HTTPResponse {
    let identity = try await credentials()
    let response = try await sendInTime(request, as: identity)
    guard let renewal, response.status >= 400, S3Refusal(response.body)?.isEnd(of: identity) == true,
      let newer = await renewal.newer(than: identity)
    else { return response }
    return try await send(request, as: newer)
  }

  /// libcurl sends again what a dead connection swallowed, as it was signed: after a sleep of the machine, with a date
  /// long gone. So it is signed once more, unless it is the clock that is wrong, which shows at once.
  private func sendInTime(_ request: Request, as identity: S3Credentials) async throws(StoreError) -> HTTPResponse {
    let signedAt = now()
    let response = try await send(request, as: identity)
    guard now() - signedAt >= Self.longDelay, Self.mayBeOutOfDate(response) else { return response }
    return try await send(request, as: identity)
  }

  /// Seconds. No server takes exception to less.
  private static let longDelay = 60

  /// A refused HEAD has no body that says why.
  private static func mayBeOutOfDate(_ response: HTTPResponse) -> Bool {
    guard !response.body.isEmpty else { return response.status == 400 || response.status == 403 }
    guard response.status >= 400, let refusal = S3Refusal(response.body) else { return false }
    return S3Refusal.skews.contains(refusal.code)
  }

  private func send(_ request: Request, as identity: S3Credentials) async throws(StoreError) -> HTTPResponse {
    let place = configuration.place(of: (request.name?.text).map(configuration.key))
    learned.withLock { $0.source = identity.source }
    let signature = Signature(
      credentials: identity, region: configuration.region, time: Signature.time(now()))
    let signed = signature.sign(
      Signature.Request(
        method: request.method, host: place.server.authority, path: place.path, query: request.query,
        headers: request.headers, payloadHash: request.payloadHash))
    var message = HTTPRequest(
      request.method, "\(place.server.scheme.rawValue)://\(place.server.authority)\(signed.target)")
    message.headers = signed.headers
    message.body = request.body?.bytes
    message.largestAnswer = request.largestAnswer
    message.wanted = request.wanted
    message.patience = request.patience
    return try await client.send(message)
  }
}
