/// The mounts that a process sees, as Linux lists them in `/proc/self/mountinfo`.
struct MountTable: Sendable {
  struct Mount: Sendable, Equatable {
    let id: Int
    /// The mount that it was mounted on.
    let parent: Int
    /// Where it is mounted.
    let point: String
    /// As the kernel names it: `ext4`, `nfs4`, `fuse.sshfs`.
    let type: String
    /// What is mounted: a device, an export, a URL.
    let source: String
  }

  let mounts: [Mount]

  /// Lines that are not as they should be are passed over.
  init(parsing text: String) {
    mounts = text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 6, let dash = fields.dropFirst(6).firstIndex(of: "-"), dash + 2 < fields.count,
        let id = Int(fields[0]), let parent = Int(fields[1])
      else { return nil }
      return Mount(
        id: id, parent: parent, point: Self.unescaped(fields[4]), type: String(fields[dash + 1]),
        source: Self.unescaped(fields[dash + 2]))
    }
  }

  /// The mount that a path, absolute and without links, lies in, found as the kernel does: from the root, by what was
  /// mounted on the mount it has come to. So what a later mount hides is not met.
  func mount(holding path: String) -> Mount? {
    var current = mounts.first { root in
      root.point == "/" && (root.parent == root.id || !mounts.contains { $0.id == root.parent })
    }
    // Every step goes to another mount, whatever the list says.
    for _ in mounts {
      guard let here = current else { return nil }
      let next = mounts.filter { $0.parent == here.id && $0.id != here.id && Self.holds($0.point, path) }
        .min { $0.point.utf8.count < $1.point.utf8.count }
      guard let next else { break }
      current = next
    }
    return current
  }

  private static func holds(_ point: String, _ path: String) -> Bool {
    point == "/" || path == point || (path.hasPrefix(point) && path.dropFirst(point.count).first == "/")
  }

  /// Spaces and a few others are written as a backslash and three octal digits.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      let isOctal = digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
      guard byte == UInt8(ascii: "\\"), isOctal else {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 << 3 | Int($1 & 7) }))
      rest = rest.dropFirst(3)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
