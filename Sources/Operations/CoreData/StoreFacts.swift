import Sealing

/// What a version says of its Core Data store.
package struct StoreFacts: Sendable, Equatable {
  package struct EntityHash: Sendable, Equatable {
    package var entity: String
    /// Hexadecimal.
    package var hash: String
  }

  package var uuid: String
  /// `SQLite`.
  package var type: String
  /// Of the model that it was written with.
  package var identifiers: [String]
  package var hashes: [EntityHash]
  /// It keeps persistent history.
  package var hasHistory: Bool
  /// The member that is the folder of its external files.
  package var supportFolder: String?
  /// Rows' references to external files; how many of those files were not there; how many files no row refers to.
  package var references: Int
  package var missing: Int
  package var orphaned: Int
  /// The first of them.
  package var missingNames: [String]
  package var orphanedNames: [String]

  init(_ store: Remarks.Store) {
    uuid = store.uuid
    type = store.type
    identifiers = store.identifiers
    hashes = store.hashes.map { EntityHash(entity: $0.entity, hash: Hex.encode($0.hash)) }
    hasHistory = store.hasHistory
    supportFolder = store.supportFolder.isEmpty ? nil : store.supportFolder
    references = Int(clamping: store.references)
    missing = Int(clamping: store.missing)
    orphaned = Int(clamping: store.orphaned)
    missingNames = store.missingNames
    orphanedNames = store.orphanedNames
  }
}
