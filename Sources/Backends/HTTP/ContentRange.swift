import Storage

/// What a server says about the part that it sends: "bytes 0-99/1234".
struct ContentRange: Equatable {
  let bytes: Range<Int>
  /// Size of the whole object, `nil` for `*`.
  let total: Int?

  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
    let ends = halves.first?.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) } ?? []
    guard halves.count == 2, ends.count == 2, let first = ends[0], let last = ends[1], first >= 0, last >= first,
      last < Int.max
    else { return nil }
    total = halves[1] == "*" ? nil : Int(halves[1])
    if halves[1] != "*", total == nil { return nil }
    bytes = first..<last + 1
  }
}

extension HTTPResponse {
  /// The bytes that were asked for: the part that the server sent, or what was held of the whole object when it ignored
  /// the range.
  /// - Throws: `.badRange` when they lie outside the object; `.badAnswer` when the server sent others.
  func part(_ range: Range<Int>, of name: ObjectName) throws(StoreError) -> [UInt8] {
    // Some servers answer 200 and still send a part.
    guard let header = header("content-range") else {
      guard status == 200 else { throw .strange("\(name) came as a part without saying which") }
      guard body.count == range.count else { throw .outside(range, of: name, size: skipped + body.count) }
      return body
    }
    guard let sent = ContentRange(header) else { throw .strange("\(name) came as a part that cannot be told") }
    if let total = sent.total, range.upperBound > total { throw .outside(range, of: name, size: total) }
    guard sent.bytes == range, body.count == range.count else {
      throw .strange("bytes \(sent.bytes) of \(name) came instead of \(range)")
    }
    return body
  }
}

extension StoreError {
  static func strange(_ what: String) -> StoreError { StoreError(.badAnswer, what, retry: .once) }
}
