import Storage

/// What a PUT is checked by: what lay there before, and what is there after it.
extension S3Store {
  /// - Returns: `nil` where no answer came to a PUT that was taken, and these very bytes are there, so that they need not be
  ///   sent anew. Not under a lock: what lay there before may have an older one.
  func answer(
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
  static func refusesConditions(_ response: HTTPResponse) -> Bool {
    let refusal = S3Refusal(response.body)
    guard refusal?.namesLock != true else { return false }
    return response.status == 501 || response.status == 400 && refusal?.code == "NotImplemented"
  }

  /// Whether these very bytes are there. What keeps that from being seen is no news beside the refusal before it.
  func holds(_ body: ObjectBody, at name: ObjectName) async -> Bool {
    do throws(StoreError) {
      guard try await head(name)?.size == body.bytes.count else { return false }
      return sameBytes(try await get(name, range: nil), body.bytes)
    } catch {
      return false
    }
  }

  /// The name is taken: fine when by the very same bytes.
  func compare(_ body: ObjectBody, with name: ObjectName) async throws(StoreError) {
    guard try await head(name)?.size == body.bytes.count, sameBytes(try await get(name, range: nil), body.bytes) else {
      throw .taken(name)
    }
  }

  func confirmSize(_ size: Int, of name: ObjectName) async throws(StoreError) {
    let held = try await head(name)?.size
    guard held == size else {
      let seen = held.map { "\($0) bytes" } ?? "nothing"
      throw StoreError(
        .badAnswer, "\(size) bytes were stored as \(name) and \(traits.location) holds \(seen)",
        retry: .later(after: nil))
    }
  }
}
