/// How much memory the C library may hold back: arenas are bounded, large buffers are not (`Docs/Decisions/0030`).
enum Allocator {
  /// By default every thread may get an arena of its own, and each keeps what large buffers leave behind: a restore held
  /// 60 MiB in two arenas, and 80 to 120 in as many as it liked. Two cores lose nothing by it.
  static func bound() {
    typealias Option = @convention(c) (Int32, Int32) -> Int32
    guard let address = LoadedSymbol.address("mallopt") else { return }
    let mostArenas: Int32 = -8
    _ = unsafeBitCast(address, to: Option.self)(mostArenas, 2)
  }
}
