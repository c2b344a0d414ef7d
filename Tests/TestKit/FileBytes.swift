import FoundationEssentials
import Glibc
import Storage

package func fileBytes(_ path: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory)))
}

/// The last `count` bytes of a file, or all of a shorter one: of one that grows for ever.
package func fileBytes(_ path: String, last count: Int) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw CocoaError(.fileNoSuchFile) }
  defer { close(descriptor) }
  let length = lseek(descriptor, 0, SEEK_END)
  var bytes = [UInt8](repeating: 0, count: min(count, Int(length)))
  let got = pread(descriptor, &bytes, bytes.count, length - off_t(bytes.count))
  return Array(bytes.prefix(max(0, got)))
}

package func writeFile(_ path: String, _ bytes: [UInt8]) throws {
  try Data(bytes).write(to: URL(filePath: path, directoryHint: .notDirectory))
}

package func removeFile(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

/// Names in a folder, sorted.
package func names(in folder: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
}

/// Permission bits.
package func mode(of path: String) -> UInt32 {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

/// All that a snapshot must never change: the bytes of the database, its -wal and its journal, where there are any.
///
/// Reading them drops the locks that this process holds on them, so no connection of the test itself may be open.
package struct SourceBytes: Equatable {
  package let files: [String: [UInt8]]

  package init(_ path: String) throws {
    var files: [String: [UInt8]] = [:]
    for ending in ["", "-wal", "-journal"] where access(path + ending, F_OK) == 0 {
      let bytes = try fileBytes(path + ending)
      // An empty -wal is what SQLite leaves when it opens a closed WAL database.
      if !(ending == "-wal" && bytes.isEmpty) { files[ending] = bytes }
    }
    self.files = files
  }

  package static func == (one: Self, other: Self) -> Bool {
    one.files.count == other.files.count
      && one.files.allSatisfy { ending, bytes in
        other.files[ending].map { sameBytes(bytes, $0) } ?? false
      }
  }
}
