import FoundationEssentials
import Glibc
import Repositories
import Sealing

/// Restores the members of a version that are not its database, into a folder beside it: `<file>.companions`.
///
/// The program does not write such versions yet, but never passes over what one holds. Links are made, never followed.
struct Companions: Sendable {
  private let reader: VersionReader

  init(_ reader: VersionReader) { self.reader = reader }

  /// A folder of companions that were restored: kept when the database gets its name, else discarded.
  struct Folder: Sendable {
    let path: String

    func discard() { try? FileManager.default.removeItem(atPath: path) }
  }

  /// - Returns: `nil` when the version has none.
  func restore(beside path: String) async throws -> Folder? {
    guard reader.core.members.count > 1 else { return nil }
    let folder = Folder(path: path + ".companions")
    guard mkdir(folder.path, 0o700) == 0 else { throw failure("cannot make \(folder.path)", errno) }
    do {
      for index in reader.core.members.indices.dropFirst() { try await restore(index, into: folder.path) }
      return folder
    } catch {
      folder.discard()
      throw error
    }
  }

  private func restore(_ index: Int, into folder: String) async throws {
    let member = reader.core.members[index]
    let path = "\(folder)/\(member.path)"
    try makeParents(of: member.path, in: folder)
    switch member.content {
    case .folder:
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("cannot make \(path)", errno) }
    case .link(let target):
      guard symlink(target, path) == 0 else { throw failure("cannot make the link \(path)", errno) }
    case .database(let content), .file(let content):
      let file = try RestoredFile(for: path)
      defer { file.discard() }
      try file.setLength(Int(content.length))
      try await reader.read(member: index, into: file, onProgress: { _ in })
      try file.publish()
    }
  }

  /// Makes the folders above a member. A link that a member before it made is refused: nothing leaves the folder.
  private func makeParents(of memberPath: String, in folder: String) throws {
    var parent = folder
    for component in memberPath.split(separator: "/").dropLast() {
      parent += "/\(component)"
      var status = stat()
      if lstat(parent, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFDIR else {
          throw OperationError(
            .verificationFailed, code: "hostileMember",
            "'\(memberPath)' would be written through '\(parent)', which is no folder")
        }
      } else if mkdir(parent, 0o700) != 0 {
        throw failure("cannot make \(parent)", errno)
      }
    }
  }

  private func failure(_ message: String, _ number: Int32) -> OperationError {
    OperationError(.failed, code: "fileSystem", "\(message): \(String(cString: strerror(number)))")
  }
}
