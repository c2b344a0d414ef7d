package import Subprocess

/// What a program printed, as text.
///
/// Subprocess's own `.string` gives `String` a lazy sequence of code units: where nothing is optimized, as in these suites,
/// that takes a second for each megabyte of a dump, and took half of the time of all suites together.
package struct TextOutput: OutputProtocol, ErrorOutputProtocol {
  package let maxSize: Int

  package func output(from span: RawSpan) -> String { span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension OutputProtocol where Self == TextOutput {
  /// At most so many bytes, or the run is an error.
  package static func text(limit: Int) -> Self { TextOutput(maxSize: limit) }
}
