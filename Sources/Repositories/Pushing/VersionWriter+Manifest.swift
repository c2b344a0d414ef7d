import Sealing
import Storage

/// The objects that say what was stored: the manifest of the version, and partial ones on the way to it.
extension VersionWriter {
  /// Seals a manifest, opens it as a reader would, and stores it.
  func storeManifest(_ body: ManifestBody, riding: [MadeFrame]) async throws -> StoredManifest {
    var basePacks = BasePacks()
    let frames = riding.map { $0.naming(&basePacks) }
    var builder = ObjectBuilder(
      kind: .manifest, keys: repository.keys, basePacks: basePacks.names, random: repository.random)
    for frame in frames { builder.add(frame) }
    try body.demandFittingTexts()
    let sealed = try builder.finish(meta: body.encode())
    let name = VersionName(
      chain: body.chain, sequence: body.sequence, revision: body.revision, length: sealed.bytes.count,
      digest: sealed.name)
    let opened = try repository.openManifest(sealed.bytes, name: name)
    try opened.object.demand(holding: frames, repository.keys)
    if !dryRun {
      if body.state == .complete { try onManifest(ManifestAttempt(name, sealed.bytes)) }
      try await repository.store.put(
        ObjectBody(sealed.bytes, sha256: sealed.name.bytes), at: name.objectName, ifAbsent: false)
      // The next push reads that of a version again, however long it is.
      let isRead = body.state == .complete || sealed.bytes.count <= Repository.largestKept
      if isRead { state.keep(sealed.bytes, as: sealed.name.hex) }
    }
    return opened
  }

  /// Protects packs from prunes, and says to a later push what it may continue with.
  func storePartial(_ entries: [PackEntry], revision: UInt32) async throws {
    var table: [MadeFrame] = []
    var references: [ManifestBody.LeafReference] = []
    for start in stride(from: 0, to: entries.count, by: 512) {
      let node = PackTableLeaf(entries: Array(entries[start..<min(start + 512, entries.count)])).encode()
      let fingerprint = fingerprinters.with { worker in node.withUnsafeBytes { worker.fingerprint(.node, $0) } }
      let frame = try encoders.with { encoder in
        try node.withUnsafeBytes {
          try encoder.encode(type: .node, units: $0, unitLengths: [node.count], fingerprints: [fingerprint])
        }
      }
      references.append(.here(frame: UInt32(table.count), unit: 0))
      table.append(MadeFrame(frame))
    }
    let body = ManifestBody(
      state: .partial, chain: draft.chain, sequence: draft.sequence, revision: revision, core: [],
      bytesDecoded: 0, bytesFetched: 0, newBytes: 0, nextPackNumber: packs.nextNumber,
      tags: [], note: "", packTable: references, maps: [])
    _ = try await storeManifest(body, riding: table)
  }
}
