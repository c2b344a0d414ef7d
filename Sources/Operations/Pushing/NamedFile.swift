import Platform
import Repositories
import Sealing
import Storage

/// Which file a name stood for when it was pushed last from this machine.
///
/// A name stands for one database: two files under it would be taken for versions of each other, and what is kept of one
/// would let go of the other. Where a file's own name became the name, nobody chose that. Two names that only look
/// alike are two to the program, and nobody else could tell them apart.
enum NamedFile {
  private struct Note {
    let path: String
    /// `nil` where an earlier program noted the path alone.
    var host: String?
    var name: String?
  }

  /// - Throws: `.usage` where the name came from the path, and stood for another file that is still there. Of a path that
  ///   leads to nothing, because it was mistyped, what comes after this says so.
  static func demandSame(_ database: DatabaseSource, host: String, _ world: World) throws {
    // One that was moved or removed is gone from there; one that is reached by another path is the same file.
    let note = own(database, host, world) ?? alike(database, host, world)
    guard database.isNamedByPath, let known = note?.path,
      !MemberPath.isSame(known, real(database.path)),
      let other = FileIdentity(at: known), let this = FileIdentity(at: real(database.path)), other != this
    else { return }
    throw OperationError(
      .usage, code: "sameName", "'\(database.name)' is the name of \(known), and would be that of \(database.path) too",
      hint: "Give this one a name of its own: add `--name NAME`; or, where both are the same database, say so:"
        + " `--name \(shellQuoted(note?.name ?? database.name))`.")
  }

  /// Notes what was pushed; that it could not be noted only costs the warning.
  static func note(_ database: DatabaseSource, host: String, _ world: World) {
    let path = real(database.path)
    if let known = own(database, host, world), MemberPath.isSame(known.path, path), known.name != nil { return }
    let text = [path, host, database.name].joined(separator: "\0")
    try? StateFiles.makeFolder(folder(world))
    try? StateFiles.write(Array(text.utf8), to: file(database, host, world), durably: false)
  }

  private static func own(_ database: DatabaseSource, _ host: String, _ world: World) -> Note? {
    read(file(database, host, world))
  }

  /// The note of another name that looks like this one: looked for once, before the first push under a name.
  private static func alike(_ database: DatabaseSource, _ host: String, _ world: World) -> Note? {
    let folder = folder(world)
    return StateFiles.names(in: folder).lazy.compactMap { read("\(folder)/\($0)") }.first { note in
      note.name == database.name && !database.name.isSameName(as: note.name) && host.isSameName(as: note.host)
    }
  }

  private static func read(_ file: String) -> Note? {
    guard let bytes = try? StateFiles.read(file) else { return nil }
    let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(validating: $0, as: UTF8.self) }
    guard let path = parts[0] else { return nil }
    return parts.count == 3 ? Note(path: path, host: parts[1], name: parts[2]) : Note(path: path)
  }

  private static func folder(_ world: World) -> String { "\(world.stateFolder)/names" }

  private static func file(_ database: DatabaseSource, _ host: String, _ world: World) -> String {
    let identity = [host, database.name, "\(database.fork)"].joined(separator: "\0")
    return "\(folder(world))/\(Digest.sha256(of: Array(identity.utf8)).hex.prefix(32))"
  }

  private static func real(_ path: String) -> String { realPath(path) ?? path }
}
