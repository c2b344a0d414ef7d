import Repositories
import Sealing
import Storage

/// What of a version is not restored because that was asked for.
package struct LeftOut: Sendable, Equatable {
  /// Files and links.
  package var files: Int
  package var bytes: Int

  /// `3 companion files (12 MiB)`.
  package var text: String {
    let amount = bytes >> 20 == 0 ? "\(bytes) bytes" : "\(bytes >> 20) MiB"
    return "\(files) companion \(files == 1 ? "file" : "files") (\(amount))"
  }
}

/// A database comes back also where what comes with it cannot: it is damaged, or there is no room for it.
extension FoundVersion {
  /// `nil` where nothing is left out.
  var leftOut: LeftOut? {
    let members = manifest.core?.members.dropFirst() ?? []
    guard leavesCompanions, !members.isEmpty else { return nil }
    return LeftOut(
      files: members.count { $0.content != .folder },
      bytes: members.map { Int(clamping: $0.file?.length ?? 0) }.clampedSum)
  }

  /// What a person should know of a database that is restored alone.
  var leftOutNotices: [String] {
    guard let leftOut else { return [] }
    let told = "'\(summary.database)': \(leftOut.text) of the version left out as asked"
    guard let store = manifest.body.remarks.store, !store.supportFolder.isEmpty, store.references > 0 else {
      return [told]
    }
    let count = store.references == 1 ? "1 reference" : "\(store.references) references"
    return [
      told,
      "'\(summary.database)': its rows have \(count) to external files, which were left out: where such a file does not stand beside the restored store, its reference leads nowhere",
    ]
  }

  /// Fetches what comes with the database, which is whole by then.
  /// - Parameter owners: as of `StagedCompanions.restore`.
  /// - Returns: `nil` when there is nothing, or it is left out.
  func stagedCompanions(
    _ reader: VersionReader, beside path: String, owners: MemberOwners? = nil,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws -> StagedCompanions? {
    guard !leavesCompanions else {
      // What a restore with them has left when it was killed takes room, and nobody goes on from it.
      StagedCompanions.sweep(beside: path)
      return nil
    }
    do {
      return try await StagedCompanions.restore(reader, beside: path, owners: owners, onProgress: onProgress)
    } catch {
      throw Self.hinting(error)
    }
  }

  /// Failures of the line and of the target pass, and say nothing against the companions.
  static func hinting(_ error: any Error) -> any Error {
    guard !(error is StoreError) else { return error }
    var told = OperationError(error)
    let isTheirs =
      told.kind == .verificationFailed
      || ["noSpace", "fileSystem", "stateFolder", "namesCollide"].contains(told.code)
    guard isTheirs else { return error }
    let hint = "The database itself is whole: --no-companions restores it without its companions."
    told.hint = [told.hint, hint].compactMap { $0 }.joined(separator: " ")
    return told
  }
}

extension Pull {
  /// Says what was left out, when the rest is there.
  func tellLeftOut(_ found: FoundVersion) {
    for notice in found.leftOutNotices { world.reporter.notice(notice) }
  }

  /// Says, before anything is fetched, that there may be too little room for all of it.
  func tellDoubt(_ room: RestoreRoom) {
    if let doubt = room.doubt { world.reporter.notice(doubt) }
  }
}
