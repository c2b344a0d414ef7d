import Sealing

extension ChainID {
  /// What a version continues whose machine could not say what stands before it: a manifest that cannot be read, of a
  /// version it has never seen. Whatever stands there, or comes back there, is continued by it (`Docs/Format.md` §6.2).
  func unknown(at sequence: UInt64) -> Digest { .sha256(of: Array("unreadable \(hex) \(sequence)".utf8)) }
}
