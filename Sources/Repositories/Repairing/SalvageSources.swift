import Sealing

/// Where a unit may still be had that a version lost: in images and files on this machine, and in other packs of the chain.
struct SalvageSources: Sendable {
  var pages: LocalPages?
  var blocks: LocalBlocks?
  var packs: WholePacks?

  /// - Throws: `StoreError`, `.stateFolder`, `CancellationError`.
  func unit(_ print: Fingerprint, _ type: UnitType) async throws -> [UInt8]? {
    switch type {
    case .page: if let page = pages?.page(print) { return page }
    case .block: if let block = try blocks?.block(print) { return block }
    case .node: return nil
    }
    return try await packs?.unit(print)
  }

  /// What stands at a place of something that may be the member.
  typealias StandIn = (_ unit: Int) -> [UInt8]?

  /// Images, for pages; for blocks the file of the member's path.
  func standIns(for path: String, _ type: UnitType) -> [StandIn] {
    switch type {
    case .page:
      guard let pages else { return [] }
      return pages.images.map { image -> StandIn in
        return { unit in pages.page(unit, ofImage: image) }
      }
    case .block:
      guard let blocks else { return [] }
      return [{ unit in blocks.block(unit, of: path) }]
    case .node: return []
    }
  }
}
