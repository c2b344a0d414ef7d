import Storage

/// How the bucket is listed, page by page.
extension S3Store {
  /// - Parameter patience: as of `HTTPRequest`; `nil` where it is about a single object.
  func list(prefix: String, patience: Duration?) async throws(StoreError) -> [ObjectInfo] {
    var listing = S3Listing(configuration, prefix: prefix)
    var token: String?
    repeat {
      let page = try await page(prefix: prefix, token: token, size: configuration.pageSize, patience: patience)
      do { try listing.add(page) } catch { throw unreadable(error, prefix) }
      token = page.next
    } while token != nil
    return listing.objects
  }

  /// - Parameter patience: as of `HTTPRequest`; `nil` where it is about a single object.
  func page(
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
