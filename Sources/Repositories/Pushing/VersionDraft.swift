package import Sealing

/// A version that is to be written: everything but where its content will lie.
package struct VersionDraft: Sendable {
  package var chain: ChainID
  package var sequence: UInt64
  /// Core hash of the version before it; zeros for the first.
  package var previous: Digest
  /// Milliseconds since 1970 UTC: when the snapshot was taken.
  package var time: UInt64
  package var host: String
  package var database: String
  package var method: Core.Method
  package var flags: Core.Flags
  /// Flags that are only known later: joined to `flags` when all content is stored, and before anything says that the
  /// version exists. What it throws ends the push. It may be asked more than once.
  package var lateFlags: @Sendable () async throws -> Core.Flags = { [] }
  /// How many rows the tables had, where that was counted: asked for after `lateFlags`, under the same conditions.
  package var lateRows: @Sendable () async throws -> [Remarks.TableRows] = { [] }
  /// The version that this one is a copy of.
  package var origin: Remarks.Origin?
  /// Shown the members as they were read, before anything says that the version exists. What it throws ends the push.
  package var demand: @Sendable ([Core.Member]) throws -> Void = { _ in }
  /// Asked when all members were read, and are not what the newest version has: whether there may be a new one. What it
  /// throws ends the push.
  package var admit: @Sendable () throws -> Void = {}
  /// The database first.
  package var members: [MemberSource]
  /// What comes with it: asked for when all of `members` was read, so that a snapshot that was still being written is
  /// finished. Ascending by the bytes of the paths. It may be asked more than once.
  package var companions: @Sendable () async throws -> [CompanionSource] = { [] }
  /// What the manifest says of a Core Data store, and of the companions: asked for when all members were read.
  package var lateStore: @Sendable () async throws -> Remarks.Store? = { nil }
  package var lateCapture: @Sendable () async throws -> Remarks.Capture? = { nil }
  /// What a later program said of the version, where it is written anew; a push has nothing of this.
  package var otherRemarks: [UInt16: [UInt8]] = [:]
  package var tags: [String]
  package var note: String
  /// zstd's level; 0 stores as is.
  package var compressionLevel: Int
  /// What the version must turn out to be, where it is written anew: the bytes of its core, with all that a later
  /// program may have said there.
  package var expectedCore: [UInt8]?
  /// What the database image may rest on.
  package var deltas = DeltaPlan.withoutBases

  package init(
    chain: ChainID, sequence: UInt64, previous: Digest, time: UInt64, host: String, database: String,
    method: Core.Method, flags: Core.Flags, members: [MemberSource], tags: [String], note: String,
    compressionLevel: Int
  ) {
    self.chain = chain
    self.sequence = sequence
    self.previous = previous
    self.time = time
    self.host = host
    self.database = database
    self.method = method
    self.flags = flags
    self.members = members
    self.tags = tags
    self.note = note
    self.compressionLevel = compressionLevel
  }

  func remarks() async throws -> Remarks {
    Remarks(
      rows: try await lateRows(), origin: origin, store: try await lateStore(), capture: try await lateCapture(),
      others: otherRemarks)
  }

  /// What a manifest holds as its core: where another one is expected, the very bytes of that, so that the id is the
  /// same also where they say more than is known here. All that is known must be equal, byte by byte: texts that people
  /// see alike are two.
  /// - Returns: `nil` when it is not the one that is expected.
  func bytes(of core: Core) -> [UInt8]? {
    let bytes = core.encode()
    guard let expectedCore else { return bytes }
    return (try? Core(decoding: expectedCore).encode()) == bytes ? expectedCore : nil
  }

  func allFlags() async throws -> Core.Flags { flags.union(try await lateFlags()) }
}
