@testable import Repositories

/// A companion that nobody writes to.
final class StillFile: CompanionFile {
  let mode: UInt32 = 0o600
  let modified: UInt64 = 1
  private let content: [UInt8]
  var length: Int { content.count }

  init(_ content: [UInt8]) { self.content = content }

  func read(_ range: Range<Int>) throws -> [UInt8] { Array(content[range]) }
  func isSettled() -> Bool { true }
  func keptUnsettled() {}
}
