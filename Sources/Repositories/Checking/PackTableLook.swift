import Sealing

/// The pack table of one version, from what was read of the packs that hold parts of it.
struct PackTableLook {
  private(set) var entries: [PackEntry] = []
  /// Objects that hold parts of it and are lost or damaged.
  private(set) var lost: Set<UInt32> = []
  private(set) var wrong: String?
  /// Some of it is of a later format: what it lists nobody can say here.
  private(set) var isLater = false

  /// - Throws: `.stateFolder`.
  init(of manifest: StoredManifest, frames: ChainFrames, spool: ScratchSpool, with decoder: FrameDecoder) throws {
    do {
      for reference in manifest.body.packTable {
        switch reference {
        case .here(let frame, let unit):
          let node = try manifest.object.node(Int(unit), ofFrame: Int(frame), with: decoder)
          try take(PackTableLeaf(decoding: node), of: manifest)
        case .inPack(let holder, let frame, let unit):
          let object = frames.intern(holder.name)
          guard let node = try Self.node(object, frame, unit, frames, spool) else {
            lost.insert(object)
            continue
          }
          try take(PackTableLeaf(decoding: node), of: manifest)
        }
        // Whatever is named after it.
        if wrong != nil { return }
      }
    } catch let error where error.isLater {
      isLater = true
    } catch let error where error.isDamage {
      wrong = "the pack table cannot be read: \(error)"
    }
    guard lost.isEmpty, wrong == nil, !isLater else { return }
    if Set(entries.map(\.name)).count != entries.count { wrong = Self.outOfOrder }
  }

  private static let outOfOrder = "the pack table is out of order"

  private mutating func take(_ leaf: PackTableLeaf, of manifest: StoredManifest) {
    if !leaf.isAppended(to: &entries, of: manifest) { wrong = Self.outOfOrder }
  }

  /// The packs that hold parts of the table of a version.
  static func holders(of manifest: StoredManifest) -> [PackEntry] {
    manifest.body.packTable.compactMap { reference in
      if case .inPack(let holder, _, _) = reference { return holder }
      return nil
    }
  }

  private static func node(
    _ object: UInt32, _ frame: UInt32, _ unit: UInt16, _ frames: ChainFrames, _ spool: ScratchSpool
  ) throws -> [UInt8]? {
    guard frames.objects[Int(object)].frames != nil else { return nil }
    guard let ordinal = frames.ordinal(object, frame) else {
      throw RepositoryError(.damaged, "it points at a frame that is not there")
    }
    let held = frames[ordinal]
    guard held.isNode, unit < held.units else {
      throw RepositoryError(.damaged, "it points at something that is no node")
    }
    guard held.content >= 0 else { return nil }
    let start = held.content + frames.offset(of: Int(unit), in: held)
    return try spool.read([start..<start + frames.length(of: Int(unit), in: held)])
  }
}
