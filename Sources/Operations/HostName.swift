import Glibc
import Repositories
import Sealing
import Snapshots

/// The host that chains are named after: the configuration's, else the one this machine was called at its first `init` or push.
///
/// It is remembered because names of machines change (containers draw a new one each start), and a new name would
/// begin a new chain. On a disk of this machine another name is that of the same machine, then. On a network's it may be
/// that of another one, which uses the same state folder.
///
/// In `<state>/host` it has a hash behind it, past an empty line. A name without one is as good: a person, or an earlier
/// build, wrote it.
package enum HostName {
  /// - Throws: `OperationError` `.usage` where the name that is remembered may be another machine's; `RepositoryError`
  ///   `.stateFolder`.
  static func current(_ world: World) throws -> String {
    if let host = try remembered(world) { return host }
    let name = world.systemName()
    try StateFiles.makeFolder(world.stateFolder)
    try StateFiles.write(Array("\(name)\n\n\(check(name))\n".utf8), to: path(in: world.stateFolder))
    return name
  }

  /// The same for who only reads: nothing is remembered, and a name that may be another machine's is not taken. Where two
  /// machines share the state folder, each is what it is called now.
  /// - Throws: `RepositoryError` `.stateFolder` where a name is noted and cannot be had. What this machine is called now may
  ///   be another one's name then, whose versions would be deleted or restored as this one's.
  static func known(_ world: World) throws -> String {
    do { return try remembered(world) ?? world.systemName() } catch let error as OperationError
      where error.code == "sharedState"
    {
      return world.systemName()
    }
  }

  /// For who goes on without a name, which then decides nothing.
  /// - Returns: the name, or why it cannot be had.
  static func asked(_ world: World) -> (String?, OperationError?) {
    do { return (try known(world), nil) } catch { return (nil, OperationError(error)) }
  }

  private static func remembered(_ world: World) throws -> String? {
    if let host = world.host { return host }
    guard let host = try noted(in: world.stateFolder) else { return nil }
    try demandOwn(host, world)
    return host
  }

  /// Two machines that push as one take each other's versions for their own: one is restored in the place of the other.
  private static func demandOwn(_ host: String, _ world: World) throws {
    let name = world.systemName()
    guard name != host else { return }
    let kind = world.fileSystem(world.stateFolder)
    guard !kind.locksCanBeTrusted else { return }
    throw OperationError(
      .usage, code: "sharedState",
      "this machine is called '\(name)', but the state folder \(world.stateFolder), on \(kind.name), is that of '\(host)'",
      hint:
        "Set \"host\" in the configuration of each machine: \"\(host)\" for the one that has pushed by that name, another name for any other."
    )
  }

  /// The name that a state folder notes, whosever it is.
  /// - Throws: `RepositoryError` `.stateFolder` where it cannot be read, or is spoilt: another name would begin a new chain
  ///   of each database.
  package static func noted(in stateFolder: String) throws -> String? {
    let file = path(in: stateFolder)
    let wayOut = "Set \"host\" in the configuration to the name that its versions have, which `sealift list` shows, or "
    let noted: [UInt8]?
    do { noted = try StateFiles.read(file) } catch {
      throw RepositoryError(
        .stateFolder, "the noted name of this machine cannot be had: \(error.message)",
        hint: "\(wayOut)let that file be read.", cause: error)
    }
    guard let bytes = noted else { return nil }
    guard let host = name(in: bytes) else {
      throw RepositoryError(
        .stateFolder, "the name of this machine that is noted in \(file) is spoilt",
        hint: "\(wayOut)write it there: echo NAME > '\(file)'")
    }
    return host
  }

  private static func path(in stateFolder: String) -> String { "\(stateFolder)/host" }

  private static func name(in bytes: [UInt8]) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    guard let name = lines.first, lines.count == 1 || lines == [name, check(name)], isSeen(name) else { return nil }
    return name
  }

  private static func check(_ name: String) -> String {
    "check \(Digest.sha256(of: Array(name.utf8)).hex.prefix(16))"
  }

  /// Whether what stands for the machine everywhere can be seen.
  private static func isSeen(_ name: String) -> Bool {
    !name.allSatisfy(\.isWhitespace) && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// What the system calls this machine.
  package static func ofSystem() -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? "localhost" : String(decoding: bytes, as: UTF8.self)
  }
}
