extension ManifestBody {
  /// A body as it stands in a manifest, under another revision: every other byte is kept, so that nothing is lost that a
  /// later program put into it (`Docs/Format.md` §6.2, §6.3).
  package static func encoded(_ body: [UInt8], asRevision revision: UInt32) -> [UInt8] {
    // Version and state, the chain's id, the sequence come before it.
    let place = 2 + 16 + 8
    var writer = ByteWriter()
    writer.write(revision)
    return body[..<place] + writer.bytes + body[(place + 4)...]
  }
}
