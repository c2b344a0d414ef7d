package import Sealing

/// What a drill of a version came to (`Docs/Format.md` §8.3, type 6).
package struct DrillResult: Sendable, Equatable {
  package let passed: Bool
  /// When it was said: milliseconds since 1970 UTC.
  package var time: UInt64
  /// Why it failed, or what was tried.
  package let text: String

  package init(passed: Bool, time: UInt64, text: String) {
    self.passed = passed
    self.time = time
    self.text = text
  }

  /// `nil` when the bytes are no result of a drill.
  init?(_ item: Annotation.Item, time: UInt64) {
    guard item.kind == .drill, let outcome = item.bytes.first, outcome < 2 else { return nil }
    self.init(passed: outcome == 0, time: time, text: String(decoding: item.bytes.dropFirst(), as: UTF8.self))
  }

  package var item: Annotation.Item {
    Annotation.Item(kind: .drill, bytes: [passed ? 0 : 1] + Array(text.utf8))
  }
}
