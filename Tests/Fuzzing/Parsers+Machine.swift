// Nobody sends these to us, and the modules that read them take libFuzzer's build minutes: `Scripts/campaigns/fuzz` has
// them with --all, the suite FuzzingTests always.
#if !PROTOCOL_ONLY
  import FoundationEssentials

  @testable import Operations
  @testable import Repositories
  @testable import SealiftTool
  @testable import Sealing
  @testable import Snapshots

  /// What a person writes, and what this machine keeps for itself: a disk may give back anything.
  let machineParsers: [String: Parser] = [
    "configuration": { bytes in
      _ = try? JSONReader.read(bytes)
      _ = try? Configuration(json: bytes, file: "sealift.json")
    },
    "selectors": { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      _ = try? VersionSelector(parsing: text)
      _ = try? HeadCode(parsing: text)
      if let time = Times.milliseconds(text) {
        demand(Times.milliseconds(Times.text(time)) == time, "a time is written otherwise")
      }
      _ = try? RecoveryKey.parse(text)
    },
    "quantities": { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      for number in [ByteCount.parse(text), ByteCount.parseRate(text), TimeSpan.parse(text)] {
        if let number { demand(number >= 0, "a quantity below zero") }
      }
      if let bytes = ByteCount.parse(text) { _ = ByteCount.text(bytes) }
      _ = KeepRule.span(text)
    },
    "patterns": { bytes in
      let lines = bytes.prefix(4096).split(separator: UInt8(ascii: "\n"), maxSplits: 1).map {
        String(decoding: $0, as: UTF8.self)
      }
      guard lines.count == 2, !ExcludePatterns.isMistaken(lines[0]) else { return }
      _ = ExcludePatterns([lines[0]]).excludes(MemberPath.components(lines[1])[...])
    },
    "state": { bytes in
      let content = Data(bytes), decoder = JSONDecoder()
      if let chain = ChainID([UInt8](repeating: 1, count: 16)) { _ = HighWaterMark(json: bytes, of: chain) }
      if let memory = try? decoder.decode(KeyringMemory.self, from: content) { _ = memory.isOlder(than: memory) }
      _ = try? decoder.decode(ConfigurationMemory.self, from: content)
      _ = try? decoder.decode(ListingProof.self, from: content)
      _ = try? decoder.decode(SourceMemory.self, from: content)
    },
    "bases": { bytes in
      if let record = BaseRecord(json: bytes) {
        let level = record.level(for: 1 << 40)
        let base = BaseRecord.Base(length: 1 << 40, cost: 1 << 40, decoded: 1 << 40)
        let needs = VersionNeeds(decoded: 1 << 40, stored: 1 << 40, whole: 1 << 40)
        let after = BaseRecord.after(
          record, level, base, needs: record.needs ?? needs, isKept: true, pageSize: 4096, method: "vacuum")
        _ = after?.level(for: 1 << 40)
      }
      for (name, account) in CompanionBases.accounts(json: bytes) {
        demand(name.utf8.count == 32 && !name.contains("/"), "a base has a name that is none")
        demand(account.isSensible, "a base of no sensible length")
      }
    },
  ]
#else
  let machineParsers: [String: Parser] = [:]
#endif
