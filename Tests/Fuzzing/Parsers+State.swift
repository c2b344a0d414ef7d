import FoundationEssentials

@testable import Operations
@testable import Repositories

/// What this machine keeps for itself. Nobody sends it, but a disk may give back anything.
let stateParsers: [String: Parser] = [
  "state": { bytes in
    let content = Data(bytes), decoder = JSONDecoder()
    _ = try? decoder.decode(HighWaterMark.self, from: content)
    if let memory = try? decoder.decode(KeyringMemory.self, from: content) { _ = memory.isOlder(than: memory) }
    _ = try? decoder.decode(ListingProof.self, from: content)
    _ = try? decoder.decode(SourceMemory.self, from: content)
  },
  "bases": { bytes in
    if let record = BaseRecord(json: bytes) {
      let level = record.level(for: 1 << 40)
      let base = BaseRecord.Base(length: 1 << 40, cost: 1 << 40, decoded: 1 << 40)
      _ = BaseRecord.after(record, level, base, isKept: true, pageSize: 4096, method: "vacuum")
    }
    for (name, account) in CompanionBases.accounts(json: bytes) {
      demand(name.utf8.count == 32 && !name.contains("/"), "a base has a name that is none")
      demand(account.isSensible, "a base of no sensible length")
    }
  },
]
