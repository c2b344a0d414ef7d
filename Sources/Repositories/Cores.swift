import Glibc

/// The machine's processors.
enum Cores {
  static let available = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}
