import Sealing
import Storage

/// What this machine has read of the records of one kind in one chain, in one sealed file. Nobody deletes a record, and in
/// `objects/` each is a file of 4 KiB or more: of many databases they outgrow in weeks what may lie there, and each night
/// would fetch the rest again.
///
/// Each entry is keyed by the SHA-256 of its object, so it is true for ever; what is *there* only a fresh listing says. A
/// file that was cut, changed, or taken from another chain or repository does not open, and the records are read again. So
/// are those that one of two processes took in, when both write at once.
struct KeptRecords: Sendable {
  /// The longest file, in bytes. `StateFiles` reads none beyond 64 MiB.
  static let largest = 60 << 20
  /// The whole file is written each time: for so many new ones, and until then they lie in `objects/`.
  static let batch = 8

  private let state: StateFolder
  private let path: String
  private let purpose: String
  private let keys: SealingKeys
  private let largest: Int
  private let records: [Digest: RecordContent]

  /// - Parameter largest: in bytes; what comes when it is full stays in `objects/`.
  init(_ kind: ObjectKind, of chain: ChainID, in state: StateFolder, keys: SealingKeys, largest: Int = Self.largest) {
    self.state = state
    path = "\(state.path)/\(chain.hex)/kept-\(kind)"
    purpose = "\(kind) records of \(chain.hex)"
    self.keys = keys
    self.largest = largest
    var records: [Digest: RecordContent] = [:]
    if let sealed = try? StateFiles.read(path), let plain = LocalSeal.open(sealed, purpose: purpose, keys: keys),
      let kept = try? RecordContent.decode(plain)
    {
      for record in kept where keys.keyring.holds(epoch: record.epoch) { records[record.digest] = record }
    }
    self.records = records
  }

  subscript(_ name: RecordName) -> RecordContent? { records[name.digest] }

  /// Takes in what was read elsewhere, when that is much, and drops it from `objects/`. A cache that cannot be written is no
  /// reason to fail.
  func add(_ read: [RecordContent], random: RandomSource) {
    let fresh = fitting(read.filter { records[$0.digest] == nil })
    guard fresh.count >= Self.batch else { return }
    let plain = RecordContent.encode(Array(records.values) + fresh)
    guard let sealed = try? LocalSeal.seal(plain, purpose: purpose, keys: keys, random: random) else { return }
    do {
      try StateFiles.makeFolder(PathSteps.folder(of: path))
      try StateFiles.write(sealed, to: path, durably: false)
    } catch {
      return
    }
    for record in fresh { state.drop(record.digest.hex) }
  }

  /// As many as there is room for.
  private func fitting(_ fresh: [RecordContent]) -> [RecordContent] {
    var room = largest - RecordContent.encode([]).count - records.values.reduce(0) { $0 + $1.encodedLength }
    var count = 0
    for record in fresh {
      room -= record.encodedLength
      if room < 0 { break }
      count += 1
    }
    return Array(fresh.prefix(count))
  }
}
