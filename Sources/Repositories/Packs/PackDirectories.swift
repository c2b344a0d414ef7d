package import Sealing
import Storage

extension Repository {
  /// The directory of a pack, by one ranged request or from the state folder's cache; authentic either way.
  package func directory(of entry: PackEntry, chain: ChainID, state: StateFolder?) async throws -> Directory {
    let reader = try PackReader(entry: entry, keys: keys)
    let keptName = entry.directoryName
    if let kept = state?.kept(keptName), let directory = try? reader.openDirectory(kept) { return directory }
    return try await part(entry.directoryRange, of: entry, chain: chain) { bytes in
      let directory = try reader.openDirectory(bytes)
      state?.keep(bytes, as: keptName)
      return directory
    }
  }
}
