import Platform

/// The kind of file system that a file lies on, as far as SQLite's locks are concerned.
package enum FileSystemKind: Sendable, Hashable {
  /// A disk of this machine, or its memory; by the system's name where that is known.
  case local(String?)
  /// Layers of local folders, as containers have them.
  case overlay
  case nfs
  case smb
  /// A folder that the host of this virtual machine or container lends it: `9p`, `virtiofs`, `fakeowner` of Docker Desktop.
  case shared(String)
  /// A program plays file system; its name where the system says it, such as `sshfs`, `davfs`.
  case fuse(String?)
  /// One disk that several machines write to.
  case cluster(String)

  /// Looks at what is mounted where the path leads; at its folder, where nothing is there.
  ///
  /// What cannot be found out counts as local: it is for remarks and refusals, never a reason to trust.
  package static func of(path: String) -> FileSystemKind {
    let real = realPath(path) ?? realPath(folder(of: path.hasPrefix("/") ? path : "./\(path)")) ?? path
    return FileSystemKind(MountTable.current.mount(holding: real))
  }

  /// Whether something is mounted right at a path, absolute, so that it cannot get another name. A link is no such place.
  package static func isMountPoint(_ path: String) -> Bool {
    let steps = path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    guard let name = steps.last else { return true }
    guard let parent = realPath("/" + steps.dropLast().joined(separator: "/")) else { return false }
    let real = parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    return MountTable.current.mount(holding: real)?.point == real
  }

  /// - Parameter mount: what the list of mounts says of the place; nil where there is none, as on other systems than Linux.
  init(_ mount: MountTable.Mount?) {
    guard let mount else {
      self = .local(nil)
      return
    }
    switch mount.type {
    case "nfs", "nfs4": self = .nfs
    case "cifs", "smb3", "smbfs", "ncpfs", "ncp": self = .smb
    case "9p", "vboxsf", "vmhgfs", "prl_fs", "virtiofs", "fakeowner", "drvfs":
      self = .shared(mount.type)
    case "overlay", "aufs": self = .overlay
    case "ceph", "lustre", "gfs2", "ocfs2", "afs", "coda", "gpfs", "beegfs", "orangefs", "pvfs2":
      self = .cluster(mount.type)
    case let type where type == "fuse" || type.hasPrefix("fuse."): self = .fuse(Self.fuseSubtype(mount))
    default: self = .local(mount.type)
    }
  }

  /// `fuse.sshfs` says it; davfs2 is plain `fuse` of a URL.
  private static func fuseSubtype(_ mount: MountTable.Mount) -> String? {
    if mount.type.hasPrefix("fuse.") { return String(mount.type.dropFirst(5)) }
    return mount.source.hasPrefix("http://") || mount.source.hasPrefix("https://") ? "davfs" : nil
  }

  /// Disks and memory of one machine. A type that is not here may be anybody's: vendors of clusters and of virtual machines
  /// have types of their own.
  private static let ownDisks: Set<String> = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "nilfs2", "ubifs", "tmpfs",
    "ramfs", "vfat", "exfat", "ntfs3", "fuseblk", "ecryptfs", "squashfs",
  ]

  /// `NFS`, `a FUSE mount (sshfs)`: as it stands in a sentence.
  package var name: String {
    switch self {
    case .local(let name): name ?? "a local disk"
    case .overlay: "an overlay"
    case .nfs: "NFS"
    case .smb: "SMB"
    case .shared(let name): "a folder shared by the host of this machine (\(name))"
    case .fuse(let subtype): subtype.map { "a FUSE mount (\($0))" } ?? "a FUSE mount"
    case .cluster(let name): name
    }
  }

  /// Why SQLite's locks cannot be trusted here; `nil` where they can.
  package var reason: String? {
    switch self {
    case .local, .overlay: nil
    case .nfs:
      "its locks are the server's, which may grant them twice or lose them, and a -wal works on one machine only"
    case .smb: "locks of other machines may not be seen here, nor ours there, and a -wal works on one machine only"
    case .shared: "locks do not reach the host, where others may write"
    case .fuse(let subtype):
      subtype.map(MountTable.localFuse.contains) == true
        ? nil : "its locks hold on this machine at most: whoever writes at the other end does not see them"
    case .cluster: "other machines may write to it, and a -wal works on one machine only"
    }
  }

  package var locksCanBeTrusted: Bool { reason == nil }

  /// False where files may all be shown with one mode, whoever may write to them: there it says nothing.
  package var keepsModes: Bool {
    switch self {
    case .local(let type): !["vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk"].contains(type)
    case .overlay, .nfs, .cluster: true
    case .smb, .shared, .fuse: false
    }
  }

  /// Nobody writes to it but through the kernel of this machine, for certain: what is unknown is not.
  package var isOfThisMachine: Bool {
    switch self {
    case .local(let type): type.map(Self.ownDisks.contains) == true
    case .overlay: true
    case .fuse(let subtype): subtype.map(MountTable.localFuse.contains) == true
    case .nfs, .smb, .shared, .cluster: false
    }
  }
}
