import FoundationEssentials
import Storage

/// One fault that suites inject, told as a row of Docs/Reliability.md while they run, when `SEALIFT_RELIABILITY` names a
/// folder. What is counted is counted by the test that did it, after its last expectation; of a run that failed
/// `Scripts/campaigns/suites` keeps no row.
package struct Fault: Sendable {
  /// How often, by fault and by kind of case, in this process.
  private static let counts = Locked<[String: [String: Int]]>([:])

  package let name: String
  let how: String
  let asserted: String
  let result: String

  /// One case more, of a kind in a word or two.
  package func met(_ kind: String) { met(1, kind) }

  /// - Parameter cases: how many the test has tried by now, beyond those it told before.
  package func met(_ cases: Int, _ kind: String) {
    guard let folder = Environment.value("SEALIFT_RELIABILITY") else { return }
    Self.counts.withLock { counts in
      counts[name, default: [:]][kind, default: 0] += cases
      do {
        try write(counts[name] ?? [:], into: folder)
      } catch {
        fatalError("the row '\(name)' cannot be written to \(folder): \(error)")
      }
    }
  }

  /// The shape that Scripts/campaigns/common/rows.py writes.
  private struct Row: Encodable {
    let campaign = "suites"
    let fault: String
    let how: String
    let count: String
    let asserted: String
    let result: String
    let command = "Scripts/campaigns/suites"
    let commit: String
    let date: String
    let size: Int
  }

  private func write(_ kinds: [String: Int], into folder: String) throws {
    let total = kinds.values.reduce(0, +)
    let parts = kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \(Self.grouped($0.value))" }
    let row = Row(
      fault: name, how: how, count: "\(Self.grouped(total)) cases (\(parts.joined(separator: ", ")))",
      asserted: asserted, result: result, commit: Environment.value("SEALIFT_COMMIT") ?? "unknown",
      date: String(Date.now.formatted(.iso8601).prefix(10)), size: total)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let file = "suites-\(name)".lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" }.prefix(120)
    try encoder.encode(row).write(to: URL(filePath: "\(folder)/\(String(file)).json"))
  }

  /// `1,234,567`
  private static func grouped(_ number: Int) -> String {
    var digits = Array(String(number))
    for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
    return String(digits)
  }
}
