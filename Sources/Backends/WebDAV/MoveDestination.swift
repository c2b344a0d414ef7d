import Storage

/// The two forms in which MOVE may say where a resource goes (RFC 4918 §10.3).
///
/// Behind a proxy that ends TLS, or has another name than the server, many servers find that the whole URL is not
/// theirs and refuse it; the path alone they take. Apache wants the whole URL.
enum MoveDestination {
  case url
  case path

  var other: MoveDestination { self == .url ? .path : .url }

  /// Whether a status may be said of the Destination: 502 of one that is another server's, 400 of one that is none.
  static func mayBeRefused(_ status: Int) -> Bool { [400, 502].contains(status) }

  /// Whether both forms were refused for what they are; 502 twice may as well be a proxy whose server is away.
  static func isRefusedForGood(_ statuses: [Int]) -> Bool { statuses.contains(400) }

  static func refusal(at location: String) -> StoreError {
    StoreError(
      .unsupported, "the server at \(location) takes no Destination that we can name, so nothing gets its name there",
      hint: "A proxy stands before it: have that pass the Host header on, and rewrite the Destination header.")
  }
}
