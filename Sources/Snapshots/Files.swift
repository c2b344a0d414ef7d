import Platform

func unreadable(_ path: String, _ number: Int32) -> SnapshotError {
  SnapshotError(
    .unreadable, "\(path) cannot be read: \(words(number))",
    hint: "Run as a user who may read the database and search its folder.")
}

/// Nothing is at `path`, or where the links there lead. Paths are text: what is no UTF-8 in a name has become U+FFFD on
/// its way here, and names nothing.
func missingFile(_ path: String) -> SnapshotError {
  let end = realPath(path) ?? path
  guard end.unicodeScalars.contains("\u{FFFD}") else {
    return SnapshotError(.missing, "there is no file \(path)", hint: "Look for a typing mistake in the path.")
  }
  return SnapshotError(
    .missing, "there is no file \(path)\(end == path ? "" : " (\(end))"): its name is probably not UTF-8",
    hint: "Rename it, and any -wal and -shm beside it, while no program has it open. A link to it will not do.")
}

/// The system's words for an error number, in lower case.
func words(_ number: Int32) -> String { String(cString: strerror(number)).lowercased() }

/// Size in bytes, or nil when there is no such file.
func fileSize(_ path: String) -> Int? {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : nil
}

/// The names in a folder, in no order; none when it cannot be read.
func names(inFolder path: String) -> [String] {
  guard let listing = opendir(path) else { return [] }
  defer { closedir(listing) }
  var names: [String] = []
  while let entry = readdir(listing) {
    names.append(
      withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      })
  }
  return names
}

func exists(_ path: String) -> Bool { faccessat(AT_FDCWD, path, F_OK, 0) == 0 }

/// The folder part of a path.
func folder(of path: String) -> String {
  path.utf8.lastIndex(of: UInt8(ascii: "/")).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
}

/// The endings of the files that SQLite keeps beside a database.
let sideFileEndings = ["-journal", "-wal", "-shm"]

func sideFiles(of path: String) -> [String] { sideFileEndings.map { path + $0 }.filter(exists) }

/// Throws `.noSpace` unless the disk of `folder` has room for `bytes`, with both numbers in the message.
func demandSpace(
  _ bytes: Int, for what: String = "the snapshot", in folder: String,
  hint: String = "Free space there, or move the state folder to a larger disk."
) throws(SnapshotError) {
  var facts = statvfs()
  guard statvfs(folder, &facts) == 0 else {
    throw SnapshotError(.spool, "the free space of \(folder) cannot be read: \(words(errno))")
  }
  let free = facts.freeBytes
  guard free >= bytes else {
    throw SnapshotError(
      .noSpace, "\(what) needs \(bytes) bytes in \(folder), where \(free) are free", hint: hint)
  }
}

/// Milliseconds since 1970, UTC.
func millisecondsSince1970() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

/// 16 lowercase hexadecimal digits that nobody can guess.
func randomName() -> String {
  let digits = String(UInt64.random(in: .min ... .max), radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}

func isRandomName(_ name: String) -> Bool {
  name.utf8.count == 16 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
}
