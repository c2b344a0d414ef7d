import Glibc

/// The kind of file system that a file lies on, as far as SQLite's locks are concerned.
package enum FileSystemKind: Sendable, Hashable {
  /// A disk of this machine, or its memory; by the system's name where that is known.
  case local(String?)
  /// Layers of local folders, as containers have them.
  case overlay
  case nfs
  case smb
  /// A folder that the host of this virtual machine or container lends it.
  case plan9
  /// A program plays file system; its name where the system says it, such as `sshfs`, `davfs`.
  case fuse(String?)
  /// One disk that several machines write to.
  case cluster(String)

  /// Looks at what is mounted where the path leads; at its folder, where nothing is there.
  ///
  /// What cannot be found out counts as local: it is for remarks and refusals, never a reason to trust.
  package static func of(path: String) -> FileSystemKind {
    let real = realPath(path) ?? realPath(folder(of: path.hasPrefix("/") ? path : "./\(path)")) ?? path
    #if canImport(Glibc)
      var facts = statfs()
      guard statfs(real, &facts) == 0 else { return .local(nil) }
      let mounts = MountTable(parsing: wholeText(of: "/proc/self/mountinfo"))
      return FileSystemKind(magic: UInt32(truncatingIfNeeded: facts.f_type), mounts.mount(holding: real))
    #else
      return .local(nil)
    #endif
  }

  /// - Parameters:
  ///   - magic: the number by which the kernel knows the kind (`statfs`).
  ///   - mount: what the list of mounts says of the place; a guess where mounts hide each other.
  init(magic: UInt32, _ mount: MountTable.Mount?) {
    switch magic {
    case 0x6969: self = .nfs
    case 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x564c: self = .smb
    case 0x0102_1997, 0x786f_4256, 0xbacb_acbc, 0x7c7c_6673: self = .plan9
    case 0x794c_7630: self = .overlay
    case 0x6573_5546: self = .fuse(Self.fuseSubtype(mount))
    case 0x00c3_6400: self = .cluster("Ceph")
    case 0x0bd0_0bd0: self = .cluster("Lustre")
    case 0x0116_1970: self = .cluster("GFS2")
    case 0x7461_636f: self = .cluster("OCFS2")
    case 0x5346_414f, 0x6b41_4653: self = .cluster("AFS")
    case 0x7375_7245: self = .cluster("Coda")
    default: self = .local(mount?.type)
    }
  }

  /// `fuse.sshfs` says it; davfs2 is plain `fuse` of a URL.
  private static func fuseSubtype(_ mount: MountTable.Mount?) -> String? {
    guard let mount else { return nil }
    if mount.type.hasPrefix("fuse.") { return String(mount.type.dropFirst(5)) }
    if mount.type == "fuse" {
      return mount.source.hasPrefix("http://") || mount.source.hasPrefix("https://") ? "davfs" : nil
    }
    // A mount that hides the one meant is of another kind.
    return mount.type.hasPrefix("fuse") || mount.type == "virtiofs" ? mount.type : nil
  }

  /// What keeps everything on this machine: the kernel itself keeps the locks then.
  private static let localFuse: Set<String> = [
    "fuseblk", "fuse-overlayfs", "gocryptfs", "encfs", "cryfs", "bindfs", "mergerfs", "ntfs-3g", "exfat",
    "squashfuse",
  ]

  /// `NFS`, `a FUSE mount (sshfs)`: as it stands in a sentence.
  package var name: String {
    switch self {
    case .local(let name): name ?? "a local disk"
    case .overlay: "an overlay"
    case .nfs: "NFS"
    case .smb: "SMB"
    case .plan9: "a folder shared by the host of this machine"
    case .fuse(let subtype): subtype.map { "a FUSE mount (\($0))" } ?? "a FUSE mount"
    case .cluster(let name): name
    }
  }

  /// Why SQLite's locks cannot be trusted here; `nil` where they can.
  package var reason: String? {
    switch self {
    case .local, .overlay: nil
    case .nfs: "its locks are the server's, which may grant them twice or lose them, and a -wal works on one machine only"
    case .smb: "locks of other machines may not be seen here, nor ours there, and a -wal works on one machine only"
    case .plan9: "locks do not reach the host, where others may write"
    case .fuse(let subtype):
      subtype.map(Self.localFuse.contains) == true
        ? nil : "its locks hold on this machine at most: whoever writes at the other end does not see them"
    case .cluster: "other machines may write to it, and a -wal works on one machine only"
    }
  }

  package var locksCanBeTrusted: Bool { reason == nil }
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
