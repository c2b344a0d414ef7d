package import Subprocess

/// What a program printed, as text.
///
/// Subprocess's own `.string` gives `String` a lazy sequence of code units, which is walked one by one: where nothing is
/// optimized, as in these suites, most of a dump's time went there.
package struct TextOutput: OutputProtocol, ErrorOutputProtocol {
  package let maxSize: Int

  package func output(from span: RawSpan) -> String { span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension OutputProtocol where Self == TextOutput {
  /// At most so many bytes, or the run is an error.
  package static func text(limit: Int) -> Self { TextOutput(maxSize: limit) }
}
