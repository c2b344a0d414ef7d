package import Sealing

extension ChainID {
  /// What a version continues whose machine could not say what stands before it: a manifest that cannot be read, of a
  /// version it has never seen. Whatever stands there, or comes back there, is continued by it (`Docs/Format.md` §6.2).
  package func unknown(at sequence: UInt64) -> Digest { .sha256(of: Array("unreadable \(hex) \(sequence)".utf8)) }

  /// Whether the last version of a range was given up by somebody who could not say which it was: then the range covers
  /// whatever stands there, or comes back there (`Docs/Format.md` §8.2).
  package func isUnknown(lastOf range: Tombstone.Range) -> Bool { range.coreHashOfLast == unknown(at: range.last) }

  /// Whether a range covers the version of this id: another one in the place of its last is not what was forgotten.
  func isCovered(_ id: Digest, at sequence: UInt64, by range: Tombstone.Range) -> Bool {
    guard range.first <= sequence, sequence <= range.last else { return false }
    return sequence < range.last || id == range.coreHashOfLast || isUnknown(lastOf: range)
  }
}
