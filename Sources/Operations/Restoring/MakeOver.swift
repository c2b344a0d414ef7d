import Repositories
import Snapshots
import Storage

/// What is changed in a restored database before it gets its name. It is no longer byte for byte what was pushed then.
package struct MakeOver: Sendable, Equatable {
  package enum Journal: String, Sendable, CaseIterable {
    case wal
    case delete
  }

  /// Repack it, without free pages.
  package var vacuum = false
  /// The journal mode that it says of itself; `nil` leaves it.
  package var journal: Journal?

  package init(vacuum: Bool = false, journal: Journal? = nil) {
    self.vacuum = vacuum
    self.journal = journal
  }

  var isNothing: Bool { !vacuum && journal == nil }

  /// It is made in a private place, and copied from there: to repack it SQLite goes by names.
  func needsSpool(for path: String) -> Bool { vacuum && !PrivateNames.are(in: PathSteps.folder(of: path)) }

  func demandImage(_ found: FoundVersion) throws {
    guard !isNothing else { return }
    guard found.isImage else {
      throw OperationError(
        .usage, code: "noImage", "the version is no SQLite database: --vacuum and --journal have no meaning for it",
        hint: "Restore it without them.")
    }
    guard !found.summary.damaged || !vacuum else {
      throw OperationError(
        .usage, code: "damagedImage", "the version was damaged when it was pushed, and cannot be repacked",
        hint: "Restore it without --vacuum.")
    }
  }

  /// What nobody could check when it was pushed may be damaged all the same: repacked, it would look sound, and rows be gone.
  func demandSound(_ check: String) throws {
    guard vacuum, check.hasPrefix(Pull.Outcome.damagedPrefix) else { return }
    throw OperationError(
      .verificationFailed, code: "damagedImage", "the version is \(check), and cannot be repacked",
      hint: "Nothing was written. Restore it without --vacuum.")
  }

  /// - Returns: the file that is to get the name, durable; what its check said, where it was checked anew. Where that is
  ///   another file than `file`, this one is gone.
  func apply(
    to file: RestoredFile, _ path: String, replacing: Bool, check: Push.Check
  ) async throws -> (file: RestoredFile, check: String?) {
    guard vacuum else {
      let image = OwnFile(path: file.temporaryPath, descriptor: file.descriptor)
      try await setJournalMode(of: image, isWAL: journal == .wal)
      try file.synchronize()
      return (file, nil)
    }
    let packed = try RestoredFile(for: path, replacing: replacing)
    do {
      try await repackImage(at: file.temporaryPath, into: packed.temporaryPath, isWAL: journal.map { $0 == .wal })
      let outcome = try await check(packed.temporaryPath)
      guard !outcome.isDamaged else {
        throw OperationError(
          .verificationFailed, code: "imageDamaged", "the repacked database fails its own check",
          hint: "Nothing was written. Restore it without --vacuum, and please report this.")
      }
      try packed.synchronize()
      file.discard()
      return (packed, outcome == .ok ? "ok" : "not checkable")
    } catch {
      packed.discard()
      throw error
    }
  }
}
