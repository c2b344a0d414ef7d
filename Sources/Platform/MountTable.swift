/// The mounts that a process sees, as Linux lists them in `/proc/self/mountinfo`.
package struct MountTable: Sendable {
  package struct Mount: Sendable, Equatable {
    package let id: Int
    /// The mount that it was mounted on.
    package let parent: Int
    /// What `stat` says of files in it, as `major:minor`.
    package let device: String
    /// Where it is mounted.
    package let point: String
    /// As the kernel names it: `ext4`, `nfs4`, `fuse.sshfs`.
    package let type: String
    /// What is mounted: a device, an export, a URL.
    package let source: String
  }

  package let mounts: [Mount]

  /// As it is now; empty where there is no such list, as on other systems than Linux.
  package static var current: MountTable { MountTable(parsing: wholeText(of: "/proc/self/mountinfo")) }

  /// Lines that are not as they should be are passed over.
  package init(parsing text: String) {
    mounts = text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 6, let dash = fields.dropFirst(6).firstIndex(of: "-"), dash + 2 < fields.count,
        let id = Int(fields[0]), let parent = Int(fields[1])
      else { return nil }
      return Mount(
        id: id, parent: parent, device: String(fields[2]), point: Self.unescaped(fields[4]),
        type: String(fields[dash + 1]), source: Self.unescaped(fields[dash + 2]))
    }
  }

  /// The mount that a path, absolute and without links, lies in, found as the kernel does: from the root, by what was
  /// mounted on the mount it has come to. So what a later mount hides is not met.
  package func mount(holding path: String) -> Mount? {
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

  /// The mount that a file is in, by its device: nobody has to look at the file. Of some file systems (btrfs) the list has
  /// other numbers than their files.
  package func mount(ofDevice device: UInt64) -> Mount? {
    let major = (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00
    return mounts.first { $0.device == "\(major):\(minor)" }
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

extension MountTable {
  /// Programs that play file system and keep everything on this machine: the kernel itself keeps the locks then.
  package static let localFuse: Set<String> = [
    "fuse-overlayfs", "gocryptfs", "encfs", "cryfs", "bindfs", "mergerfs", "ntfs-3g", "exfat",
    "squashfuse",
  ]
}

extension MountTable.Mount {
  /// A network stands before it, for all that is known. A disk that a program of this machine plays file system of
  /// (`fuseblk`) is none.
  package var isBehindNetwork: Bool {
    switch type {
    case "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse": true
    default: type.hasPrefix("fuse.") && !MountTable.localFuse.contains(String(type.dropFirst(5)))
    }
  }
}

/// All of a file whose size the system does not say beforehand, as below `/proc`; empty when it cannot be read.
private func wholeText(of path: String) -> String {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return "" }
  defer { close(file) }
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 1 << 14)
  while bytes.count < 1 << 24 {
    let got = read(file, &part, part.count)
    if got < 0, errno == EINTR { continue }
    guard got > 0 else { break }
    bytes += part[..<got]
  }
  return String(decoding: bytes, as: UTF8.self)
}
