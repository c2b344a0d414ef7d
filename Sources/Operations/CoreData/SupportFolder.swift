import Sealing
import Snapshots

/// Where Core Data keeps what is too large for a row: `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store, NAME being the
/// store's file name without its extension.
enum SupportFolder {
  static let externalData = "_EXTERNAL_DATA"

  /// - Parameter store: the path of a store, or its file name.
  static func name(of store: String) -> String {
    let file = MemberPath.components(store).last ?? ""
    let dot = file.lastIndex(of: ".")
    let stem = dot.flatMap { dot in
      dot > file.startIndex && file.index(after: dot) < file.endIndex ? String(file[..<dot]) : nil
    }
    return ".\(stem ?? file)_SUPPORT"
  }
}

/// A store, and what was listed beside it. A file that was listed and cannot be read is as good as none.
struct FoundStore: Sendable {
  private let store: CoreDataStore
  private let support: String?
  private let isLookedFor: Bool
  /// The folder of external files, and what is in it.
  private let listed: [CompanionEntry]
  private let events: CaptureEvents

  /// - Parameters:
  ///   - support: the member that is the folder of external files, if there is one.
  ///   - isLookedFor: false where nobody wants to know what became of those files.
  ///   - entries: of all companions.
  ///   - events: of what is read.
  init(
    _ store: CoreDataStore, support: String?, isLookedFor: Bool, _ entries: [CompanionEntry], _ events: CaptureEvents
  ) {
    self.store = store
    self.support = support
    self.isLookedFor = isLookedFor
    self.events = events
    listed = entries.filter { entry in support.map { MemberPath.isSameOrAbove($0, entry.path) } ?? false }
  }

  /// What is known by now, of the target that is read for.
  var remarks: Remarks.Store { known(without: events.unread) }
  /// Without what could not be read for one target or another.
  var remarksForAnyTarget: Remarks.Store { known(without: events.unreadForAnyTarget) }

  private func known(without unread: Set<[UInt8]>) -> Remarks.Store {
    let entries = listed.filter { $0.kind != .file || !unread.contains(MemberPath.key($0.path)) }
    return Remarks.Store(store, support: support, isLookedFor: isLookedFor, entries)
  }
}

extension Remarks.Store {
  /// What whoever restores a store should know.
  var caution: String? {
    guard hasHistory else { return nil }
    return
      "the store keeps persistent history: tokens that extensions or CloudKit hold are later than it; let them begin anew, or remove the history"
  }

  /// - Parameters:
  ///   - support: the member that is the folder of external files, if there is one.
  ///   - isLookedFor: false where nobody wants to know what became of those files.
  ///   - entries: that folder, and what of it can be read.
  fileprivate init(_ store: CoreDataStore, support: String?, isLookedFor: Bool, _ entries: [CompanionEntry]) {
    let folder = support.map { "\($0)/\(SupportFolder.externalData)" }
    var files: Set<ExternalRecord> = []
    if let folder {
      for entry in entries where entry.kind == .file && MemberPath.isAbove(folder, entry.path) {
        let below = MemberPath.components(of: entry.path, below: folder)
        if below.count == 1, let record = ExternalRecord(below[0]) { files.insert(record) }
      }
    }
    let missing = isLookedFor ? store.references.filter { !files.contains($0) } : []
    let orphaned = files.subtracting(store.references).sorted()
    self.init(
      uuid: store.uuid, type: store.type, hasHistory: store.hasHistory,
      supportFolder: entries.contains { entry in support.map { MemberPath.isSame($0, entry.path) } ?? false }
        ? support ?? "" : "", identifiers: store.identifiers,
      hashes: store.hashes.map { EntityHash(entity: $0.key, hash: $0.value) },
      references: UInt64(store.references.count), missing: UInt64(missing.count), orphaned: UInt64(orphaned.count),
      missingNames: missing.prefix(Self.mostNames).map(\.name),
      orphanedNames: orphaned.prefix(Self.mostNames).map(\.name))
  }
}
