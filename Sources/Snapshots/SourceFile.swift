import Glibc

/// The file that a path leads to: links resolved once, so that its side files are found where SQLite finds them.
package struct SourceFile: Sendable {
  /// What a file is, before SQLite is asked.
  package enum Nature: Sendable, Equatable {
    case database
    case empty
    /// No header, and bytes like noise: most likely a database encrypted by SQLCipher or another extension.
    case encrypted
    case other
  }

  package let path: String
  let status: stat

  /// - Throws: `.missing`, `.notAFile`, `.unreadable`.
  package init(_ named: String) throws(SnapshotError) {
    guard let resolved = realpath(named, nil) else {
      let number = errno
      throw SnapshotError(
        number == EACCES ? .unreadable : .missing,
        "there is no database at \(named): \(String(cString: strerror(number)))",
        hint: "Check the path; a relative one begins at the folder the command runs in.")
    }
    defer { free(resolved) }
    path = String(cString: resolved)
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw SnapshotError(.unreadable, "cannot look at \(path): \(String(cString: strerror(errno)))")
    }
    self.status = status
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR:
      throw SnapshotError(.notAFile, "\(named) is a folder, not a database", hint: "Name the database file inside it.")
    default: throw SnapshotError(.notAFile, "\(named) is no regular file")
    }
  }

  var folder: String { path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "." }
  var sideFiles: [String] { ["-wal", "-shm", "-journal"].map { path + $0 } }

  func size(of suffix: String) -> Int? {
    var status = Glibc.stat()
    return stat(path + suffix, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Reads the first bytes. Must not be called while this process has the database open in SQLite: closing the file here
  /// would drop SQLite's locks. See: sqlite.org/howtocorrupt.html#posix_close_bug
  package func nature() throws(SnapshotError) -> Nature {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SnapshotError(
        .unreadable, "cannot read \(path): \(String(cString: strerror(errno)))",
        hint: "Run sealift as the owner of the database, or give its user read access.")
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = max(0, pread(descriptor, &bytes, bytes.count, 0))
    bytes.removeSubrange(count...)
    if count == 0 { return .empty }
    if DatabaseHeader(bytes) != nil { return .database }
    let looksRandom = count >= 512 && status.st_size % 512 == 0 && Set(bytes).count > 200
    return looksRandom ? .encrypted : .other
  }

  /// - Throws: what is wrong with the file, and the way out, unless it is a database.
  func requireDatabase() throws(SnapshotError) {
    switch try nature() {
    case .database: return
    case .empty:
      throw SnapshotError(
        .empty, "\(path) is empty",
        hint:
          "An application makes its tables when it first runs; if it has, this is the wrong file or it lost its content."
      )
    case .encrypted:
      throw SnapshotError(
        .encrypted, "\(path) has no SQLite header and looks encrypted",
        hint:
          "SQLCipher and its kin cannot be read without the application's key. Let the application export a copy and push that."
      )
    case .other:
      throw SnapshotError(.notADatabase, "\(path) is not a SQLite database", hint: "Name the database file itself.")
    }
  }
}
