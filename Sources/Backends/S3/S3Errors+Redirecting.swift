import Storage

/// Where the bucket is, when that is elsewhere than the target says.
extension S3Errors {
  func wrongRegion(_ refusal: S3Refusal?) -> StoreError {
    let expected = refusal?.region.map { $0.quotable }
    return StoreError(
      .unauthenticated, "the region \(configuration.region) is not the bucket's",
      hint: expected.map { "Set the target's region to \($0)." } ?? Self.findRegion)
  }

  private static let findRegion =
    "Set the target's region to the bucket's (`auto` at Cloudflare); AWS_REGION and the profile's region count where"
    + " the target names none."

  func redirected(_ refusal: S3Refusal?, _ response: HTTPResponse) -> StoreError {
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
