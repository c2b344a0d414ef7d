import Glibc

/// Functions of libraries this process has loaded, found by name: those that Swift cannot import (variadic ones), and
/// those of libraries that only lower modules may import.
enum LoadedSymbol {
  static func address(_ name: String) -> UnsafeMutableRawPointer? {
    guard let program = dlopen(nil, RTLD_NOW) else { return nil }
    return dlsym(program, name)
  }

  /// What a function without arguments says, such as a library's version.
  static func text(_ name: String) -> String? {
    typealias Version = @convention(c) () -> UnsafePointer<CChar>?
    return address(name).flatMap { unsafeBitCast($0, to: Version.self)() }.map { String(cString: $0) }
  }
}
