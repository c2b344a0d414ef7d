package import Sealing

/// Packs of a chain that a check found damaged or missing: nothing is referred to in them any more, so that every push
/// stores anew what only they held.
///
/// Each is so at the place where that was found (`StorePlace`): a copy of all objects has packs of the same names, and
/// what is spoilt there need not be stored again here.
///
/// Remembered by this machine, durably, one hexadecimal name a line, behind it `at <place>`, then `next <number>`, and in the
/// last line a hash of all (`CheckedLines`); when that is lost, the next repair or check finds them again.
package struct DamagedPacks: Sendable {
  private static let numberKey = "next "
  private static let placeKey = "at "

  /// Where each was found; `nil`: what an earlier build noted holds everywhere.
  private var places: [Digest: Set<String?>] = [:]
  /// Above every pack number that a repair has given, wherever.
  private(set) var nextNumber: UInt32 = 1
  private let place: StorePlace?

  /// - Parameter place: what was found elsewhere is passed over, and stays; `nil` to ask for all.
  /// - Throws: `.stateFolder` when there may be some that cannot be read, or they are spoilt: what is stored then may refer to
  ///   what is damaged.
  package init(of chain: ChainID, in state: StateFolder, at place: StorePlace? = nil) throws(RepositoryError) {
    self.place = place
    let path = Self.path(chain, state)
    var lines: [(name: Digest, place: String?)] = []
    for line in try CheckedLines.read(path) {
      if let name = Layout.digest(line) {
        lines.append((name: name, place: nil))
      } else if line.hasPrefix(Self.placeKey), !lines.isEmpty, StorePlace.isName(line.dropFirst(Self.placeKey.count)) {
        lines[lines.count - 1].place = String(line.dropFirst(Self.placeKey.count))
      } else if line.hasPrefix(Self.numberKey), let number: UInt32 = Layout.number(line.dropFirst(Self.numberKey.count))
      {
        nextNumber = number
      } else {
        throw CheckedLines.spoilt(path)
      }
    }
    for line in lines { places[line.name, default: []].insert(line.place) }
  }

  /// Those that are damaged here.
  var names: Set<Digest> { Set(places.keys.filter { contains($0) }) }

  func contains(_ pack: Digest) -> Bool { place == nil ? places[pack] != nil : isNoted(pack) }

  private func isNoted(_ pack: Digest) -> Bool {
    guard let found = places[pack] else { return false }
    return found.contains(nil) || place?.names.contains { found.contains($0) } == true
  }

  /// Durable when it returns.
  /// - Throws: `.stateFolder`.
  package mutating func add(_ more: [Digest], of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    let new = more.filter { !isNoted($0) }
    guard !new.isEmpty else { return }
    for name in new { places[name, default: []].insert(place?.name) }
    try write(chain, state)
  }

  /// What was found elsewhere counts here, too. Durable when it returns.
  /// - Returns: whether there was any.
  /// - Throws: `.stateFolder`.
  mutating func takeAlong(of chain: ChainID, in state: StateFolder) throws(RepositoryError) -> Bool {
    let elsewhere = places.keys.filter { !contains($0) }
    try add(Array(elsewhere), of: chain, in: state)
    return !elsewhere.isEmpty
  }

  /// - Throws: `.stateFolder`.
  mutating func raise(_ number: UInt32, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard number > nextNumber else { return }
    nextNumber = number
    try write(chain, state)
  }

  private func write(_ chain: ChainID, _ state: StateFolder) throws(RepositoryError) {
    let found: [String] = places.flatMap { name, places in
      places.map { place in name.hex + (place.map { "\n\(Self.placeKey)\($0)" } ?? "") }
    }
    let lines = found.sorted() + ["\(Self.numberKey)\(nextNumber)"]
    let text = lines.map { $0 + "\n" }.joined()
    _ = try state.folder(of: chain)
    try CheckedLines.write(text, to: Self.path(chain, state))
  }

  private static func path(_ chain: ChainID, _ state: StateFolder) -> String { "\(state.path)/\(chain.hex)/damaged" }
}
