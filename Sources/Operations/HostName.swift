import Glibc
import Repositories

/// The host that chains are named after: the configuration's, else the one this machine was called at its first `init` or push.
///
/// It is remembered because names of machines change (containers draw a new one each start), and a new name would
/// begin a new chain.
enum HostName {
  static func current(_ world: World) throws -> String {
    if let host = try remembered(world) { return host }
    let name = systemName()
    try StateFiles.makeFolder(world.stateFolder)
    try StateFiles.write(Array("\(name)\n".utf8), to: path(world))
    return name
  }

  /// The same for who only reads: nothing is remembered.
  static func known(_ world: World) -> String { (try? remembered(world)) ?? systemName() }

  private static func remembered(_ world: World) throws -> String? {
    try world.host ?? StateFiles.read(path(world)).flatMap(name(in:))
  }

  private static func path(_ world: World) -> String { "\(world.stateFolder)/host" }

  private static func name(in bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    return text.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func systemName() -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? "localhost" : String(decoding: bytes, as: UTF8.self)
  }
}
