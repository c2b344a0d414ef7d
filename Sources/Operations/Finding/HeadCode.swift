import Repositories
import Sealing

/// A head code, noted elsewhere after a push: `<sequence>-<first 16 digits of the version id>`. A chain that contains it
/// is at least as new as that push, and has the same past.
struct HeadCode: Sendable {
  let sequence: UInt64
  let idPrefix: String

  /// - Throws: `.usage` when it does not look like one.
  init(parsing text: String) throws {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(parts[0]), parts[1].utf8.count == 16,
      parts[1].allSatisfy(\.isHexDigit)
    else {
      throw OperationError(
        .usage, "'\(text)' is no head code",
        hint: "A head code looks like 12-0123456789abcdef; every push prints its own.")
    }
    self.sequence = sequence
    idPrefix = parts[1].lowercased()
  }

  /// - Throws: `.verificationFailed` when the chain does not contain the head, or cannot be followed back to it.
  func check(_ history: ChainHistory) throws {
    let newest = history.newest?.name.sequence ?? 0
    guard newest >= sequence else {
      throw refusal("the newest version at the target is number \(newest), the head noted is number \(sequence)")
    }
    let isPartly = history.forgotten.isPartly
    if let problem = history.problems.first(where: {
      $0.code == .forked || $0.code == .hole || (isPartly && $0.code == .unsupported)
    }) {
      throw refusal("the chain cannot be followed: \(problem.message)")
    }
    // Nothing is forgotten unless a newer version stays; one that cannot be read may be that.
    let counting = history.newestCounting?.sequence ?? 0
    guard counting >= sequence || history.unreadable.contains(where: { $0.sequence > counting }) else {
      throw refusal(
        "all from the head noted on, number \(sequence), was forgotten for newer versions, and none of these is there")
    }
    if let version = history.versions.first(where: { $0.name.sequence == sequence }) {
      guard version.id.hex.hasPrefix(idPrefix) else {
        throw refusal("version \(sequence) at the target is another one")
      }
      return
    }
    let ends = history.forgotten.ranges.filter { $0.last == sequence }
    if ends.contains(where: { $0.coreHashOfLast.hex.hasPrefix(idPrefix) }) { return }
    guard ends.allSatisfy({ history.chain.isUnknown(lastOf: $0) }) else {
      throw refusal("version \(sequence), which was forgotten there, is another one")
    }
    throw history.forgotten.explains(sequence)
      ? forgotten(history) : refusal("version \(sequence) is not at the target any more")
  }

  /// Of versions that were forgotten together only the last one's id is kept: of the others nothing can be proved.
  private func forgotten(_ history: ChainHistory) -> OperationError {
    let later = history.versions.first { $0.sequence > sequence }.map { ", of version \($0.sequence) or a later one" }
    return OperationError(
      .verificationFailed, code: "headForgotten",
      "version \(sequence) was forgotten and is not at the target any more: its head code proves nothing now",
      hint: "Take a head code that was noted later\(later ?? "").")
  }

  private func refusal(_ message: String) -> OperationError {
    OperationError(
      .verificationFailed, code: "unexpectedHead", message,
      hint: "Somebody put an older or another state at the target. Pull without --expect only if you know why.")
  }
}
