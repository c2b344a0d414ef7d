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
  var leftOut: LeftOut? { leavesCompanions ? allCompanions : nil }

  /// `nil` where there are none.
  private var allCompanions: LeftOut? {
    let members = manifest.core?.members.dropFirst() ?? []
    guard !members.isEmpty else { return nil }
    return LeftOut(
      files: members.count { $0.content != .folder },
      bytes: members.map { Int(clamping: $0.file?.length ?? 0) }.clampedSum)
  }

  /// What a person should know of a database that is restored alone.
  var leftOutNotices: [String] {
    guard let leftOut else { return [] }
    let told = "'\(summary.database)': \(leftOut.text) of the version left out as asked"
    guard let references, manifest.body.remarks.store?.supportFolder.isEmpty == false else { return [told] }
    return [
      told,
      "'\(summary.database)': its rows have \(references), which were left out: where such a file does not stand beside the restored store, its reference leads nowhere",
    ]
  }

  /// What a person should know of rows that are restored alone.
  var rowsAloneNotices: [String] {
    var notices: [String] = []
    if let companions = allCompanions, companions.files > 0 {
      notices.append(
        "'\(summary.database)': \(companions.text) of the version not brought along: `sealift pull \(summary.id.prefix(12)) -o FILE` fetches them"
      )
    }
    if let references {
      notices.append(
        "'\(summary.database)': rows of the version have \(references), which do not come along: where such a file does not stand beside the database, its reference leads nowhere"
      )
    }
    return notices
  }

  /// Of a Core Data store's rows: `2 references to external files`.
  private var references: String? {
    guard let count = manifest.body.remarks.store?.references, count > 0 else { return nil }
    return "\(count) \(count == 1 ? "reference" : "references") to external files"
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
      return try await StagedCompanions.restore(
        reader, beside: path, leaving: leftToOthers, owners: owners, onProgress: onProgress)
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
