/// 16 random bytes that name a repository and are bound into every key of it.
package struct RepositoryID: Hashable, Sendable {
  package let bytes: [UInt8]

  /// `nil` unless there are 16 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  package init?(hex: String) {
    guard let bytes = Hex.decode(hex) else { return nil }
    self.init(bytes)
  }

  package var hex: String { Hex.encode(bytes) }
}

/// 16 bytes that name a chain: one database of one host (`Docs/Format.md` §5).
package struct ChainID: Hashable, Sendable {
  package let bytes: [UInt8]

  /// `nil` unless there are 16 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  package init?(hex: String) {
    guard let bytes = Hex.decode(hex) else { return nil }
    self.init(bytes)
  }

  package var hex: String { Hex.encode(bytes) }
}

/// What deduplication works on (`Docs/Format.md` §1).
package enum UnitType: UInt8, Sendable, BitwiseCopyable {
  case page = 1
  case block = 2
  case node = 3
}

/// What a sealed object is (`Docs/Format.md` §4.1).
package enum ObjectKind: UInt8, Sendable, CaseIterable {
  case pack = 1
  case manifest = 2
  case keyring = 3
  case condemned = 4
  case tombstone = 5
  case annotation = 6
  case configuration = 7

  /// Only these have frames.
  var hasFrames: Bool { self == .pack || self == .manifest }
}

/// How the content of a frame is coded (`Docs/Format.md` §4.4).
package enum Codec: UInt8, Sendable, BitwiseCopyable {
  case raw = 0
  case zstd = 1
  case zstdWithPrefix = 2
  /// Pages taken apart into cells, then as `zstd`.
  case cells = 3
  /// Pages taken apart into cells, those of the prefix as well.
  case cellsWithPrefix = 4

  /// A delta: nothing without the units that it rests on.
  package var hasPrefix: Bool { self == .zstdWithPrefix || self == .cellsWithPrefix }
  /// The form of `Docs/Format.md` §4.5.
  var isCells: Bool { self == .cells || self == .cellsWithPrefix }
}

/// The version of the format that this program writes.
package enum ObjectFormat {
  package static let version = 1
}
