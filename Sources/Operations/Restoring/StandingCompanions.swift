import Glibc
import Platform
import Repositories

/// What stands where companions are to come, and would be moved aside under whoever has it open. Whether a file is a
/// database is asked only of what somebody has open: there may be very many.
struct StandingCompanions: Sendable {
  /// All regular files, by their real paths.
  private(set) var files: [String: FileIdentity] = [:]
  /// Those that are known to be databases: the version has one in that place, or SQLite keeps something beside them.
  private(set) var databases: Set<String> = []
  private var tops: [(member: String, place: String, real: String)] = []
  private let isDatabase: @Sendable (_ member: String) -> Bool

  /// - Parameter isDatabase: whether a member of the version is one, as far as that is known yet.
  init(
    at places: [CompanionsPlace.Place], isDatabase: @escaping @Sendable (_ member: String) -> Bool = { _ in false }
  ) {
    self.isDatabase = isDatabase
    for place in places {
      if let member = place.member { look(at: place.path, of: member) }
    }
  }

  /// Looks again at the databases that are known, and at what is beside them by now; at nothing else.
  mutating func renew() {
    for path in databases.flatMap({ database in ([""] + SideFiles.endings).map { database + $0 } }) {
      files[path] = FileIdentity(at: path)
    }
  }

  /// Where a person was told that something is to come to lie.
  func place(of file: String) -> String { top(of: file)?.place ?? file }

  /// The file is a database, or one of its side files.
  /// - Parameter heldHere: what this process itself has open. It is not looked into: to close it would end the locks
  ///   that SQLite holds in this process.
  func isOfDatabase(_ file: String, heldHere: Set<String>) -> Bool {
    let database = ReadTogether.database(of: file).flatMap { files[$0] == nil ? nil : $0 } ?? file
    if databases.contains(database) || member(at: database).map(isDatabase) ?? false { return true }
    return !heldHere.contains(database) && Self.beginsAsDatabase(database)
  }

  private mutating func look(at place: String, of member: String) {
    // Whoever came through a link has open what is behind it.
    let real = realPath(place) ?? place
    var status = stat()
    guard lstat(real, &status) == 0 else { return }
    tops.append((member, place, real))
    if status.st_mode & S_IFMT == S_IFDIR {
      if let folder = FolderHandle(path: real) { look(into: folder, real) }
    } else if status.st_mode & S_IFMT == S_IFREG {
      let present = SideFiles.present(of: real)
      for ending in present { files[real + ending] = FileIdentity(at: real + ending) }
      if present.count > 1 || isDatabase(member) { databases.insert(real) }
    }
  }

  /// No link in it is followed.
  private mutating func look(into folder: FolderHandle, _ path: String) {
    var sides: [String] = []
    for name in folder.names()?.names ?? [] {
      guard let status = folder.status(name) else { continue }
      let entry = "\(path)/\(name)"
      if status.st_mode & S_IFMT == S_IFDIR {
        if let inner = folder.folder(name) { look(into: inner, entry) }
      } else if status.st_mode & S_IFMT == S_IFREG {
        files[entry] = FileIdentity(status)
        sides += [ReadTogether.database(of: entry)].compactMap { $0 }
      }
    }
    databases.formUnion(sides.filter { files[$0] != nil })
  }

  private func top(of file: String) -> (member: String, place: String, real: String)? {
    tops.first { MemberPath.isSameOrAbove($0.real, ReadTogether.database(of: file) ?? file) }
      ?? tops.first { MemberPath.isSameOrAbove($0.real, file) }
  }

  private func member(at file: String) -> String? {
    top(of: file).map { top in
      ([top.member] + MemberPath.components(of: file, below: top.real)).joined(separator: "/")
    }
  }

  private static func beginsAsDatabase(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let beginning = Array("SQLite format 3\0".utf8)
    var bytes = [UInt8](repeating: 0, count: beginning.count)
    return pread(descriptor, &bytes, bytes.count, 0) == bytes.count && bytes == beginning
  }
}
