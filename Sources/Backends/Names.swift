import Storage

extension ObjectName {
  /// The folders an object lies in, from the top.
  var parents: [Substring] { text.split(separator: "/").dropLast() }
}

/// Names below `tmp/` for what is being written.
enum TemporaryName {
  /// 128 random bits: two writers never meet.
  static func random() -> Substring {
    Substring(digits(.random(in: 0 ... .max)) + digits(.random(in: 0 ... .max)))
  }

  /// All sixteen: without zeros in front, two pairs of numbers could make one name.
  static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension StoreError {
  static func taken(_ name: ObjectName) -> StoreError { StoreError(.exists, "\(name) is taken by other bytes") }

  static func outside(_ range: Range<Int>, of name: ObjectName, size: Int?) -> StoreError {
    let bytes = size.map { "the \($0) bytes of " } ?? ""
    return StoreError(.badRange, "bytes \(range.lowerBound)..<\(range.upperBound) lie outside \(bytes)\(name)")
  }

  static func tooLarge(_ name: ObjectName, size: Int) -> StoreError {
    StoreError(.badAnswer, "\(name) has \(size) bytes, more than any object of ours")
  }
}
