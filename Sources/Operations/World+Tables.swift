import Glibc

extension World {
  /// A folder for files without names: the state folder, where it can be written.
  var tables: String { access(stateFolder, W_OK) == 0 ? stateFolder : "/tmp" }
}
