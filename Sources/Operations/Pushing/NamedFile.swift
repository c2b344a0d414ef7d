import Repositories
import Sealing

/// Which file a name stood for when it was pushed last from this machine.
///
/// A name stands for one database: two files under it would be taken for versions of each other, and what is kept of one
/// would let go of the other. Where a file's own name became the name, nobody chose that.
enum NamedFile {
  /// - Throws: `.usage` where the name came from the path, and stood for another file that is still there.
  static func demandSame(_ database: DatabaseSource, host: String, _ world: World) throws {
    // One that was moved or removed is gone from there; one that is reached by another path is the same file.
    guard database.isNamedByPath, let known = read(database, host, world),
      !MemberPath.isSame(known, real(database.path)),
      let other = FileIdentity(at: known), other != FileIdentity(at: real(database.path))
    else { return }
    throw OperationError(
      .usage, code: "sameName", "'\(database.name)' is the name of \(known), and would be that of \(database.path) too",
      hint: "Give this one a name of its own: `sealift push \(database.path) --name NAME`; or, where both are the same"
        + " database, say so: `--name \(database.name)`.")
  }

  /// Notes what was pushed; that it could not be noted only costs the warning.
  static func note(_ database: DatabaseSource, host: String, _ world: World) {
    let path = real(database.path)
    if let known = read(database, host, world), MemberPath.isSame(known, path) { return }
    try? StateFiles.makeFolder(folder(world))
    try? StateFiles.write(Array(path.utf8), to: file(database, host, world), durably: false)
  }

  private static func read(_ database: DatabaseSource, _ host: String, _ world: World) -> String? {
    guard let bytes = try? StateFiles.read(file(database, host, world)) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func folder(_ world: World) -> String { "\(world.stateFolder)/names" }

  private static func file(_ database: DatabaseSource, _ host: String, _ world: World) -> String {
    let identity = [host, database.name, "\(database.fork)"].joined(separator: "\0")
    return "\(folder(world))/\(Digest.sha256(of: Array(identity.utf8)).hex.prefix(32))"
  }

  private static func real(_ path: String) -> String { realPath(path) ?? path }
}
