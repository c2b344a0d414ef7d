import Storage

/// What is asked once more, where an answer may be that of a proxy, or says too little.
extension S3Store {
  /// Who may list only below a prefix is told "forbidden" of an object that is not there: so policies are commonly written,
  /// and a HEAD has no prefix. Its name as a prefix is a question that may be asked.
  /// - Returns: the object, or nothing; `nil` when that may not be asked either.
  func listed(_ name: ObjectName) async throws(StoreError) -> [ObjectInfo]? {
    do throws(StoreError) {
      return try await list(prefix: name.text, patience: nil).filter { $0.name == name }
    } catch  where error.code == .forbidden {
      return nil
    }
  }

  /// Whether the server lists it. That it lists at all proves that it is there, and the bucket, too.
  func isListed(_ name: ObjectName) async throws(StoreError) -> Bool {
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
  func confirmAbsence(of name: ObjectName, after response: HTTPResponse) async throws(StoreError) {
    guard S3Refusal(response.body)?.code != "NoSuchKey", try await isListed(name) else { return }
    throw contradicted(name)
  }

  /// What a listing shows was stored a moment ago, or the first answer was not the server's. Where it is not there at once
  /// either, it may be stored a second time just then: Swift exchanges a file for that, and whoever meets it in between is
  /// told 404.
  /// - Returns: the answer to the last HEAD.
  func lookForListed(_ name: ObjectName) async throws(StoreError) -> HTTPResponse {
    let response = try await send(Request("HEAD", name))
    guard response.status == 404 else { return response }
    try await clock.pause(Self.exchangePatience)
    return try await send(Request("HEAD", name))
  }

  /// Longer than a file takes to be exchanged by a busy server.
  static let exchangePatience = Duration.milliseconds(250)

  func contradicted(_ name: ObjectName) -> StoreError {
    StoreError(
      .unavailable, "\(traits.location) said that there is no \(name), and lists it",
      hint: "Do the same again in a while. If that does not help, look for a proxy on the way.",
      retry: .later(after: nil))
  }

  /// Why a HEAD was refused. Who asked that may have got other credentials by it, and then the HEAD goes through as well.
  func lookAgain(
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
}
