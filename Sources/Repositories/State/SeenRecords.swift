import Sealing

/// When this machine saw the condemned records of a chain first, by its own clock: a record's own time is that of a clock
/// that may have been years behind when it was written.
///
/// One file `<state>/<repository id>/<chain id>/records`: a line `<hexadecimal name> <milliseconds since 1970>` for each.
/// One that is lost puts deletions off.
struct SeenRecords {
  private var times: [Digest: UInt64] = [:]
  private let chain: ChainID
  private let state: StateFolder

  init(of chain: ChainID, in state: StateFolder) {
    self.chain = chain
    self.state = state
    let bytes = (try? StateFiles.read("\(state.path)/\(chain.hex)/records")) ?? []
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, let digest = Layout.digest(words[0]), let time = UInt64(words[1]) { times[digest] = time }
    }
  }

  subscript(_ record: Digest) -> UInt64? { times[record] }

  /// Notes those that were not seen before, or by a clock that was far ahead. Best effort: what cannot be noted waits.
  mutating func note(_ records: some Sequence<Digest>, at now: UInt64) {
    let fresh = records.filter { times[$0].map { $0 > now && $0 - now > PrunePolicy.day } ?? true }
    guard !fresh.isEmpty else { return }
    for record in fresh { times[record] = now }
    let lines = times.sorted { $0.key < $1.key }.map { "\($0.key.hex) \($0.value)\n" }
    try? StateFiles.write(Array(lines.joined().utf8), to: "\(state.folder(of: chain))/records")
  }
}
