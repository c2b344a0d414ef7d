import Glibc

/// The whole text of a file whose size the system does not tell, such as those of `/proc`; `nil` when it cannot be read.
package func systemText(_ path: String) -> String? { systemBytes(path).map { String(decoding: $0, as: UTF8.self) } }

func systemBytes(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let got = read(descriptor, &part, part.count)
    if got < 0, errno == EINTR { continue }
    guard got >= 0 else { return nil }
    if got == 0 { return bytes }
    bytes += part[..<got]
  }
}

/// The names in a folder; `nil` when it cannot be looked into.
package func folderEntries(_ path: String) -> [String]? {
  guard let folder = opendir(path) else { return nil }
  defer { closedir(folder) }
  var names: [String] = []
  while let entry = readdir(folder) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}
