import Repositories

/// How much fits into one version.
extension CompanionCapture {
  /// Bytes of a file, at most: it has fewer than 2^32 blocks (`Docs/Format.md` §6.1).
  private static let mostLength = ((1 << 32) - 1) * 65_536

  /// As the format has it; the paths of so many are more than a manifest holds.
  private static let mostEntries = 1_000_000

  /// More than four fifths of what one version can hold: somebody should hear of it while there is time.
  static func isNearlyFull(_ entries: [CompanionEntry], mostBytes: Int) -> Bool {
    entries.count > mostEntries / 5 * 4 || entries.map(\.bytesInManifest).clampedSum > mostBytes / 5 * 4
  }

  /// - Throws: `.failed` for a file that no version can hold: nothing but a hole is as long, and reading it takes days.
  static func demandFitting(_ size: Int, _ path: String) throws(OperationError) {
    guard size > mostLength else { return }
    throw OperationError(
      .failed, code: "companionTooLong", "'\(path)' is \(size) bytes long: no version can hold that",
      hint: "Leave it out with \"exclude\", or name no companion that it is in.")
  }

  /// - Parameter askingForSupport: a folder of external files, which would come without that, is asked for.
  /// - Throws: `.failed` for more than a version can hold, and for a file of that kind.
  static func demandFitting(
    _ entries: [CompanionEntry], mostBytes: Int, askingForSupport: Bool = false
  ) throws(OperationError) {
    for file in entries where file.kind == .file { try demandFitting(file.status.size, file.path) }
    let bytes = entries.map(\.bytesInManifest).clampedSum
    guard entries.count < mostEntries, bytes <= mostBytes else {
      throw OperationError(
        .failed, code: "tooManyCompanions", "\(entries.count) files and folders are too many for one version",
        hint: askingForSupport
          ? "Take the folder of external files out of 'companions': with \"externalData\": false the rows are pushed alone."
          : "Leave out what can be made again with \"exclude\", or keep many small files in an archive.")
    }
  }
}

extension CompanionEntry {
  /// What a manifest says of it, at most.
  fileprivate var bytesInManifest: Int {
    let said = path.utf8.count + 160
    guard case .link(let target) = kind else { return said }
    return said + target.utf8.count
  }
}
