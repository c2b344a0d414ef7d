import Sealing

extension Repository {
  /// Notes for this place whatever this machine found harmed of the repository elsewhere. For where it meets the repository
  /// for the first time: a target that moved, or whose address is written in another way, brings along what is damaged, and
  /// so does one that was copied.
  /// - Parameter state: the path of the state folder.
  /// - Returns: whether there was any.
  /// - Throws: `.stateFolder` when it cannot be noted. Notes that cannot be read are refused by whoever goes by them.
  func takeHarmAlong(in state: String) throws(RepositoryError) -> Bool {
    let folder = StateFolder(reading: state, repository: id)
    var isHarmed = false
    for name in StateFiles.names(in: folder.path) where name.utf8.count == 32 {
      guard let chain = ChainID(hex: name) else { continue }
      if var damaged = try? DamagedPacks(of: chain, in: folder, at: place), try damaged.takeAlong(of: chain, in: folder)
      {
        isHarmed = true
      }
      if var harmed = try? HarmedVersions(of: chain, in: folder, at: place), try harmed.takeAlong() { isHarmed = true }
      if var doubted = try? DoubtedVersions(of: chain, in: folder, at: place), try doubted.takeAlong() {
        isHarmed = true
      }
    }
    return isHarmed
  }
}
