/// A recovery key as it is printed and typed: base32 in groups of four, with a check at its end (`Docs/Format.md` §3).
package enum RecoveryKey {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// - Parameter key: 32 bytes.
  package static func text(of key: [UInt8]) -> String {
    let bytes = key + Digest.sha256(of: key).bytes.prefix(3)
    var digits: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 5) {
      let group = bytes[start..<start + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      for shift in stride(from: 35, through: 0, by: -5) { digits.append(alphabet[Int(group >> UInt64(shift) & 31)]) }
    }
    let groups = stride(from: 0, to: digits.count, by: 4).map { String(decoding: digits[$0..<$0 + 4], as: UTF8.self) }
    return groups.joined(separator: "-")
  }

  /// The 32 bytes. Takes what people do to printed keys: other case, spaces, no dashes, 0 for O, 1 for I, 8 for B.
  /// - Throws: `.malformed` when it was mistyped.
  package static func parse(_ text: String) throws(SealError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer: UInt64 = 0
    var bits = 0
    for character in text.uppercased() where !character.isWhitespace && character != "-" {
      let written: Character = character == "0" ? "O" : character == "1" ? "I" : character == "8" ? "B" : character
      guard let ascii = written.asciiValue, let value = alphabet.firstIndex(of: ascii) else {
        throw mistyped("'\(character)' is not a character of it")
      }
      buffer = buffer << 5 | UInt64(value)
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt64(bits)))
        buffer &= (1 << UInt64(bits)) - 1
      }
    }
    guard bytes.count == 35, bits == 0 else {
      throw refusal("a recovery key has 56 characters in 14 groups, and this has more or fewer")
    }
    let key = Array(bytes[..<32])
    guard Array(Digest.sha256(of: key).bytes.prefix(3)) == Array(bytes[32...]) else {
      throw mistyped("its check does not fit")
    }
    return key
  }

  /// Whether a text is as long as a recovery key, and none: who typed it may have slipped.
  package static func isMistyped(_ text: String) -> Bool {
    let digits = text.filter { !$0.isWhitespace && $0 != "-" }
    guard digits.count == 56, digits.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return false }
    return (try? parse(text)) == nil
  }

  private static func mistyped(_ why: String) -> SealError { refusal("the recovery key is mistyped: \(why)") }

  private static func refusal(_ message: String) -> SealError {
    SealError(.malformed, message, hint: "Compare it with the printed one, group by group.")
  }
}
