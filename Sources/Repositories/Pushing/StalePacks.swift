import Sealing

/// Packs whose content the next push stores anew, so that a prune, which only deletes, can free them: those of which the
/// newest version needs little, and small ones when there are many.
///
/// Remembered by this machine; when that is lost nothing is cleaned until the push after.
struct StalePacks: Sendable {
  private static let smallPack = 1 << 20
  private static let manySmallPacks = 64

  private let names: Set<Digest>

  func contains(_ pack: Digest) -> Bool { names.contains(pack) }

  init() { names = [] }

  /// What a version leaves behind.
  /// - Parameter table: every pack that it needs.
  init(after cost: RestoreCost, _ table: [PackEntry], _ known: KnownPacks) {
    var names: Set<Digest> = []
    let held = known.contentLengths()
    for (number, live) in cost.live {
      if let entry = known.entries[number], live * 4 < held[number] ?? 0 { names.insert(entry.name) }
    }
    names.formUnion(Self.scattered(table) { cost.live[$0] != nil }.map(\.name))
    self.names = names
  }

  /// The older half of small packs, when there are many: were it all of them, what was stored anew would itself be stored
  /// anew by the next push. Of nodes alone there are as many as pushes that made them, of a large database, and what is
  /// stored anew of the others frees none of these.
  static func scattered(_ table: [PackEntry], hasContent: (UInt32) -> Bool) -> [PackEntry] {
    let small = table.filter { Int($0.length) < smallPack && hasContent($0.number) }.sorted { $0.number < $1.number }
    return small.count > manySmallPacks ? Array(small.prefix(small.count / 2)) : []
  }

  // MARK: Remembered

  init(of chain: ChainID, in state: StateFolder) {
    let text = (try? StateFiles.read(Self.path(chain, state))).flatMap {
      $0.map { String(decoding: $0, as: UTF8.self) }
    }
    names = Set((text ?? "").split(separator: "\n").compactMap { Layout.digest(String($0)) })
  }

  func write(of chain: ChainID, in state: StateFolder) {
    let text = names.map(\.hex).sorted().map { $0 + "\n" }.joined()
    guard let path = try? Self.path(chain, state) else { return }
    try? StateFiles.write(Array(text.utf8), to: path, durably: false)
  }

  private static func path(_ chain: ChainID, _ state: StateFolder) throws(RepositoryError) -> String {
    try state.folder(of: chain) + "/stale"
  }
}
