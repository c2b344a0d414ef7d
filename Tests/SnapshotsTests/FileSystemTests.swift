import Glibc
import Platform
import TestKit
import Testing

@testable import Snapshots

/// Where SQLite's locks can be trusted, from what Linux says of a place. The lists are as real machines wrote them.
@Suite struct FileSystemTests {
  private static let mounts = MountTable(
    parsing: """
      22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
      23 22 0:21 / /proc rw - proc proc rw
      24 22 0:40 / /mnt/files rw,relatime shared:3 master:4 - nfs4 nas:/export rw,vers=4.2
      25 24 0:41 / /mnt/files/alice\\040and\\011bob rw,nosuid - fuse.sshfs alice@host:/srv rw,user_id=0
      26 22 0:42 / /mnt/cloud rw - fuse https://cloud.example.com/dav rw,user_id=0
      27 22 8:17 / /media/stick rw - fuseblk /dev/sdb1 rw
      28 22 0:43 / /mnt/cloud2 rw - fuse anything rw
      29 22 0:44 / /srv rw - tmpfs tmpfs rw
      30 29 0:45 / /srv rw - virtiofs shared rw
      33 22 0:46 / /hidden/deep rw - cifs //nas/share rw
      34 22 0:47 / /hidden rw - xfs /dev/sdc rw
      35 22 0:48 / /box rw - overlay overlay rw,lowerdir=/a
      36 22 0:49 / /win rw - 9p drvfs rw
      37 22 0:50 / /san rw - ceph 10.0.0.1:6789:/ rw
      38 22 0:51 / /crypt rw - fuse.gocryptfs /home/a/.crypt rw
      39 22 0:52 / /smb rw - smb3 //nas/share rw
      40 22 0:44 /Users /mac rw - fakeowner /run/host_mark/Users rw
      41 22 0:53 / /wsl rw - drvfs C: rw
      42 22 0:54 / /pvfs rw - pvfs2 tcp://san:3334/pvfs2-fs rw
      43 22 0:55 / /vendor rw - panfs panfs://realm rw
      31 22 broken line
      32
      """)

  @Test func `what is mounted cannot be renamed`() throws {
    #expect(FileSystemKind.isMountPoint("/"))
    #expect(FileSystemKind.isMountPoint("/proc") && FileSystemKind.isMountPoint("/proc/"))
    #expect(!FileSystemKind.isMountPoint("/proc/self") && !FileSystemKind.isMountPoint("/nonexistent/place"))
    let scratch = try Scratch()
    #expect(symlink("/proc", scratch.file("link")) == 0)
    #expect(!FileSystemKind.isMountPoint(scratch.file("link")))
  }

  @Test func `a path lies in the innermost mount, the last of those in one place`() {
    func type(_ path: String) -> String? { Self.mounts.mount(holding: path)?.type }
    #expect(type("/var/lib/app.db") == "ext4")
    #expect(type("/mnt/files/app.db") == "nfs4")
    #expect(type("/mnt/files") == "nfs4")
    #expect(type("/mnt/filesystem/app.db") == "ext4")
    #expect(type("/mnt/files/alice and\tbob/app.db") == "fuse.sshfs")
    #expect(type("/srv/app.db") == "virtiofs")
    #expect(type("/hidden/deep/app.db") == "xfs", "a later mount hides it")
    #expect(Self.mounts.mounts.count == 20)
    #expect(MountTable(parsing: "").mount(holding: "/") == nil)
  }

  /// By the numbers that `stat` gives.
  @Test(
    arguments: [
      (0xfe00, "ext4", false), (40, "nfs4", true), (41, "fuse.sshfs", true), (42, "fuse", true),
      (0x811, "fuseblk", false), (46, "cifs", true), (47, "xfs", false), (51, "fuse.gocryptfs", false),
      (52, "smb3", true), (60, nil, false), (0x10_0028, nil, false),
    ] as [(UInt64, String?, Bool)])
  func `a device is in a mount, which is a network's or not`(_ device: UInt64, _ type: String?, _ isFar: Bool) {
    let mount = Self.mounts.mount(ofDevice: device)
    #expect(mount?.type == type && (mount?.isBehindNetwork ?? false) == isFar)
  }

  @Test(arguments: [
    ("/var/app.db", FileSystemKind.local("ext4"), true), ("/hidden/deep/app.db", .local("xfs"), true),
    ("/media/stick/app.db", .local("fuseblk"), true), ("/box/app.db", .overlay, true),
    ("/crypt/app.db", .fuse("gocryptfs"), true), ("/mnt/files/app.db", .nfs, false), ("/smb/app.db", .smb, false),
    ("/win/app.db", .shared("9p"), false), ("/srv/app.db", .shared("virtiofs"), false),
    ("/mac/app.db", .shared("fakeowner"), false), ("/wsl/app.db", .shared("drvfs"), false),
    ("/pvfs/app.db", .cluster("pvfs2"), false), ("/vendor/app.db", .local("panfs"), true),
    ("/san/app.db", .cluster("ceph"), false), ("/mnt/files/alice and\tbob/app.db", .fuse("sshfs"), false),
    ("/mnt/cloud/app.db", .fuse("davfs"), false), ("/mnt/cloud2/app.db", .fuse(nil), false),
  ])
  func `a mount says what its locks are worth`(_ path: String, _ kind: FileSystemKind, _ trusted: Bool) {
    let found = FileSystemKind(Self.mounts.mount(holding: path))
    #expect(found == kind)
    #expect(found.locksCanBeTrusted == trusted)
    #expect((found.reason == nil) == trusted)
    #expect(found.reason?.hasSuffix(".") != true && !found.name.isEmpty)
  }

  @Test func `what is known to be of this machine is, and nothing else`() {
    for mine in [FileSystemKind.local("ext4"), .local("btrfs"), .local("tmpfs"), .overlay, .fuse("gocryptfs")] {
      #expect(mine.isOfThisMachine, "\(mine)")
    }
    for other in [
      FileSystemKind.local("panfs"), .local(nil), .nfs, .smb, .shared("fakeowner"), .fuse("sshfs"), .fuse(nil),
      .cluster("pvfs2"),
    ] {
      #expect(!other.isOfThisMachine, "\(other)")
    }
  }

  @Test func `a mode says nothing where all files may be shown with one`() {
    for honest in [FileSystemKind.local("ext4"), .local("tmpfs"), .local(nil), .overlay, .nfs, .cluster("ceph")] {
      #expect(honest.keepsModes, "\(honest)")
    }
    for other in [FileSystemKind.local("exfat"), .local("fuseblk"), .smb, .shared("drvfs"), .fuse("sshfs")] {
      #expect(!other.keepsModes, "\(other)")
    }
  }

  @Test func `this machine's disk is looked at, also for a file that is not there yet`() throws {
    let scratch = try Scratch()
    try writeFile(scratch.file("app.db"), [1])
    let kind = FileSystemKind.of(path: scratch.file("app.db"))
    #expect(FileSystemKind.of(path: scratch.file("new.db")) == kind)
    #expect(FileSystemKind.of(path: scratch.path) == kind)
    #expect(FileSystemKind.of(path: "/proc/self/maps") == .local("proc"))
    #expect(FileSystemKind.of(path: "no such file here").locksCanBeTrusted)
    #expect(FileSystemKind(nil) == .local(nil))
  }
}
