import FoundationEssentials
import Glibc
import Platform
import Storage
import TestKit
import Testing

@testable import Backends

@Suite struct FolderStoreTests {
  private let scratch: Scratch
  private let root: String
  private let store: FolderStore
  private let name = ObjectName("packs/chain/one")!

  init() throws {
    scratch = try Scratch()
    root = scratch.file("target")
    store = try FolderStore(path: root, create: true)
  }

  @Test func `names of what is being written keep all their digits`() {
    #expect(TemporaryName.digits(0x1f) == "000000000000001f" && TemporaryName.digits(.max) == "ffffffffffffffff")
    #expect((0..<100).allSatisfy { _ in TemporaryName.random().utf8.count == 32 })
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  private func code(_ work: () async throws -> Void) async -> StoreError.Code? {
    do { try await work() } catch { return (error as? StoreError)?.code }
    return nil
  }

  @Test func `it keeps every promise`() async {
    let broken = await brokenPromises(of: store)
    #expect(broken == [])
  }

  @Test func `a trial of the promises leaves not even a folder`() async throws {
    _ = await StoreContract.run(on: store)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
    // What others made stays theirs, empty or not.
    try FileManager.default.createDirectory(atPath: "\(root)/doctor", withIntermediateDirectories: false)
    try await FolderStore(path: root).put(ObjectBody([1]), at: name, ifAbsent: false)
    _ = await StoreContract.run(on: store)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["doctor", "packs", "tmp"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/doctor") == [])
    try await store.delete(name)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/packs") == ["chain"])
  }

  @Test func `a folder that is emptied while others put into it loses nothing`() async throws {
    await withTaskGroup(of: Bool.self) { group in
      for writer in 0..<4 {
        group.addTask { [store] in
          for round in 0..<100 {
            guard let name = ObjectName("a/b/\(writer)-\(round)"),
              (try? await store.put(ObjectBody([UInt8(round)]), at: name, ifAbsent: round % 2 == 0)) != nil,
              (try? await store.get(name, range: nil)) == [UInt8(round)], (try? await store.delete(name)) != nil
            else { return false }
          }
          return true
        }
      }
      for await isWhole in group { #expect(isWhole) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
  }

  @Test func `a missing folder is refused unless it may be made`() throws {
    let path = scratch.file("not/mounted")
    let error = #expect(throws: StoreError.self) { _ = try FolderStore(path: path) }
    #expect(error?.code == .noTarget)
    #expect(error?.hint?.contains("mounted") == true)
    _ = try FolderStore(path: path, create: true)
    #expect(mode(path) == 0o700)
    let file = scratch.file("file")
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    #expect(throws: StoreError.self) { _ = try FolderStore(path: file) }
  }

  @Test(arguments: [ENODEV, ENXIO, ENOMEDIUM])
  func `a place whose disk is not plugged in is no target`(_ number: Int32) async {
    await #expect(processExitsWith: .success) { [root = root as String, number = number as Int32] in
      guard FailingCalls.fail(.openFolder, with: number) else { fatalError("this kernel takes no filters") }
      let absent = try Target.folder(path: root).storeThereOrNot(StoreAccess(now: { 0 }))
      let error = await #expect(throws: StoreError.self) { try await absent.list(prefix: "") }
      #expect(error?.code == .noTarget && error?.hint?.contains("mounted") == true)
      #expect(absent is AbsentFolder)
    }
  }

  /// A share whose server starts anew; here the process may open nothing for a while.
  @Test func `a folder that does not answer when it is opened is tried again`() async throws {
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    await #expect(processExitsWith: .success) { [root = root as String] in
      // Whoever waits for the first time opens descriptors for that, and libdispatch ends a program where it cannot.
      try await Task.sleep(for: .milliseconds(10))
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let (soft, hard) = (limit.rlim_cur, limit.rlim_max)
      limit.rlim_cur = 0
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let late = try Target.folder(path: root).storeThereOrNot(StoreAccess(now: { 0 }))
      let error = await #expect(throws: StoreError.self) { try await late.list(prefix: "") }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil))
      let clock = StoreClock(now: { .zero }) { _ in
        var usual = rlimit(rlim_cur: soft, rlim_max: hard)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
      }
      let listed = try await RetryingStore(late, clock: clock, random: { 0.5 }).list(prefix: "")
      #expect(listed.map(\.name.text) == ["packs/chain/one"])
      // Opened once for all: what takes its place is another one.
      try FileManager.default.moveItem(atPath: root, toPath: root + ".disk")
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      let other = await #expect(throws: StoreError.self) { try await late.list(prefix: "") }
      #expect(other?.code == .noTarget)
    }
  }

  @Test(
    arguments: [
      (EAGAIN, .unavailable, .later(after: nil)), (EPERM, .fileSystem, .never),
    ] as [(Int32, StoreError.Code, StoreError.Retry)])
  func `a thread that cannot be started now may be a moment later`(
    _ number: Int32, _ code: StoreError.Code, _ retry: StoreError.Retry
  ) async throws {
    let error = await #expect(throws: StoreError.self) {
      try await onOwnThread({ () throws(StoreError) in 1 }, startedBy: { _ in number })
    }
    #expect(error?.code == code && error?.retry == retry && error?.hint?.contains("TasksMax=") == true)
    #expect(try await onOwnThread({ () throws(StoreError) in 1 }) == 1)
  }

  /// What lies at the path then is what the mount had hidden.
  @Test func `a folder that is late is not looked for below its mount`() async throws {
    let point = Locked(root)
    let late = LateFolder(path: root) { _ in
      MountTable(parsing: "22 1 0:40 / \(point.withLock { $0 }) rw - nfs4 nas:/export rw").mounts.first
    }
    point.withLock { $0 = "/" }
    let work = { try await late.put(ObjectBody([1]), at: name, ifAbsent: false) }
    let error = await storeError(work)
    #expect(error?.code == .unavailable && error?.retry == .later(after: nil))
    #expect(error?.message.contains("what was mounted at \(root)") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
    point.withLock { $0 = root }
    try await work()
    #expect(try await late.list(prefix: "").map(\.name) == [name])
  }

  /// What is harmed in it is harmed by whatever path it is reached.
  @Test func `a folder is one place by each of its paths, also one that is late`() async throws {
    let link = scratch.file("link")
    let late = LateFolder(path: link) { _ in nil }
    #expect(late.traits.place == "file://\(link)")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: root)
    #expect(try FolderStore(path: link).traits.place == store.traits.place)
    #expect(try FolderStore(path: link).traits.identity != store.traits.identity)
    _ = try await late.list(prefix: "")
    #expect(late.traits.place == store.traits.place && late.traits.identity == "file://\(link)")
    let other = try FolderStore(path: scratch.file("other"), create: true)
    #expect(other.traits.place != store.traits.place)
  }

  /// It goes when nobody uses it, and comes when somebody opens the path, unless its server is still away.
  @Test(arguments: [true, false])
  func `a folder that is late is opened where its automatic mount went away, and nothing is put below`(
    comes: Bool
  ) async throws {
    let (nas, above) = ("23 22 0:41 / \(root) rw - nfs4 nas:/export rw", "22 1 0:40 / / rw - autofs /etc/auto.net rw")
    // As it was, before it is opened, and behind that.
    let lines = Locked(comes ? [nas, above, nas] : [nas, above])
    let late = LateFolder(path: root) { _ in
      let line = lines.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
      return MountTable(parsing: line).mounts.first
    }
    let error = await storeError { try await late.put(ObjectBody([1]), at: name, ifAbsent: false) }
    #expect(error?.code == (comes ? nil : StoreError.Code.unavailable))
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty != comes)
    guard !comes else { return }
    // Nor is a folder missed that only lies in the mount.
    try FileManager.default.removeItem(atPath: root)
    let missed = await storeError { _ = try await late.list(prefix: "") }
    #expect(missed?.code == .unavailable)
  }

  @Test func `a folder that does not answer is not made later`() async {
    await #expect(processExitsWith: .success) { [root = root as String] in
      guard FailingCalls.fail(.openFolder, with: ESTALE) else { fatalError("this kernel takes no filters") }
      var access = StoreAccess(now: { 0 })
      access.create = true
      let making = access
      let error = #expect(throws: StoreError.self) { _ = try Target.folder(path: root).storeThereOrNot(making) }
      #expect(error?.code == .unavailable)
    }
  }

  /// On a file system that takes every time. Others may write at the target, and sums are made of what it says.
  @Test(.enabled(if: access("/dev/shm", W_OK) == 0), arguments: [Int.max, Int.min])
  func `a time that cannot be is told as one that is far away`(seconds: Int) async throws {
    let shelf = try Scratch(in: "/dev/shm")
    let store = try FolderStore(path: shelf.file("target"), create: true)
    try await store.put(ObjectBody([1]), at: name, ifAbsent: true)
    let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, shelf.file("target/\(name)"), times, 0) == 0)
    let far = seconds > 0 ? 1 << 40 : -1 << 40
    #expect(try await store.list(prefix: "").map(\.stored) == [far])
  }

  @Test func `what cannot be made durable is not stored`() async throws {
    await #expect(processExitsWith: .success) { [root = root as String] in
      let store = try FolderStore(path: root)
      // From now on the folders are known to be durable; only the file itself is not.
      try await store.put(ObjectBody([1]), at: ObjectName("packs/chain/one")!, ifAbsent: false)
      guard FailingCalls.fail(.fsync, with: EIO) else { fatalError("this kernel takes no filters") }
      for ifAbsent in [false, true] {
        let error = await #expect(throws: StoreError.self) {
          try await store.put(ObjectBody([2]), at: ObjectName("packs/chain/two")!, ifAbsent: ifAbsent)
        }
        #expect(error?.code == .fileSystem)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/packs/chain") == ["one"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/tmp") == [])
  }

  /// As folders that a virtual machine's host lends do.
  @Test func `a file system that cannot make names durable is no error, one that fails is`() throws {
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    #expect(fsync(ends[0]) != 0 && errno == EINVAL)
    #expect(synchronizeNames(in: ends[0]) == 0)
    for end in ends { close(end) }
    #expect(synchronizeNames(in: ends[0]) != 0 && errno == EBADF)
  }

  @Test func `a folder that goes away later is no empty target`() async throws {
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    try FileManager.default.removeItem(atPath: root)
    #expect(await code { _ = try await store.list(prefix: "") } == .noTarget)
    #expect(await code { _ = try await store.head(name) } == .noTarget)
    #expect(await code { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) } == .noTarget)
  }

  /// A disk that is unmounted, or a mount whose program dies, leaves the empty folder below it.
  @Test func `another folder in its place is no target`() async throws {
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    mkdir("\(root)/lost+found", 0o700)
    let store = try FolderStore(path: root)
    try FileManager.default.moveItem(atPath: root, toPath: root + ".disk")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    let later = ObjectName("packs/chain/two")!
    for _ in 1...2 {
      #expect(await code { _ = try await store.list(prefix: "") } == .noTarget)
      #expect(await code { _ = try await store.head(name) } == .noTarget)
      #expect(await code { try await store.put(ObjectBody([1]), at: later, ifAbsent: false) } == .noTarget)
      // What every folder may have proves nothing.
      mkdir("\(root)/tmp", 0o700)
      mkdir("\(root)/lost+found", 0o700)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["lost+found", "tmp"])
    // Mounted anew it is another one, too, and has what was there.
    try FileManager.default.removeItem(atPath: root)
    try FileManager.default.copyItem(atPath: root + ".disk", toPath: root)
    try await store.put(ObjectBody([2]), at: later, ifAbsent: false)
    #expect(try await store.list(prefix: "").count == 2)
  }

  @Test func `a folder that was empty is known by itself alone`() async throws {
    try FileManager.default.moveItem(atPath: root, toPath: root + ".disk")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    #expect(await code { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) } == .noTarget)
    try FileManager.default.removeItem(atPath: root)
    try FileManager.default.moveItem(atPath: root + ".disk", toPath: root)
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
  }

  @Test func `files are for their owner alone and nothing is left in tmp`() async throws {
    for ifAbsent in [true, false] {
      try await store.put(ObjectBody([1, 2]), at: name, ifAbsent: ifAbsent)
      #expect(mode("\(root)/packs/chain/one") == 0o600)
      #expect(mode("\(root)/packs") == 0o700)
      #expect(mode("\(root)/packs/chain") == 0o700)
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/tmp") == [])
    }
    #expect(await code { try await store.put(ObjectBody([9]), at: name, ifAbsent: true) } == .exists)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/tmp") == [])
  }

  @Test func `leftovers in tmp are listed only when asked for`() async throws {
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    #expect(FileManager.default.createFile(atPath: "\(root)/tmp/0123", contents: Data([1, 2, 3])))
    #expect(try await store.list(prefix: "").map(\.name) == [name])
    #expect(try await store.list(prefix: "tmp/").map(\.name.text) == ["tmp/0123"])
  }

  @Test func `files of others are not listed`() async throws {
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    for foreign in [".DS_Store", "packs/.hidden", "packs/README.TXT", "lost+found"] {
      #expect(FileManager.default.createFile(atPath: "\(root)/\(foreign)", contents: Data([1])))
    }
    #expect(mkfifo("\(root)/packs/pipe", 0o600) == 0)
    #expect(try await store.list(prefix: "").map(\.name) == [name])
    #expect(await code { _ = try await store.get(ObjectName("packs/pipe")!, range: nil) } == .notFound)
  }

  @Test func `symbolic links inside are never followed, and never taken for absence`() async throws {
    let outside = scratch.file("outside")
    try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: "\(outside)/secret", contents: Data([42])))
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    try FileManager.default.createSymbolicLink(atPath: "\(root)/linked", withDestinationPath: outside)
    try FileManager.default.createSymbolicLink(atPath: "\(root)/packs/file", withDestinationPath: "\(outside)/secret")
    let throughFolder = ObjectName("linked/secret")!
    let throughFile = ObjectName("packs/file")!
    for link in [throughFolder, throughFile] {
      #expect(await code { _ = try await store.get(link, range: nil) } == .badAnswer)
      #expect(await code { _ = try await store.head(link) } == .badAnswer)
    }
    #expect(await code { try await store.put(ObjectBody([7]), at: throughFolder, ifAbsent: false) } == .badAnswer)
    #expect(await code { _ = try await store.list(prefix: "") } == .badAnswer)
    #expect(await code { _ = try await store.list(prefix: "../") } == nil)
    #expect(try await store.list(prefix: "../outside/").isEmpty)
    // A put to the name of a link replaces the link, not what it leads to.
    try await store.put(ObjectBody([8]), at: throughFile, ifAbsent: false)
    #expect(try await store.get(throughFile, range: nil) == [8])
    #expect(FileManager.default.contents(atPath: "\(outside)/secret") == Data([42]))
  }

  @Test func `an unwritable folder is explained`() async throws {
    guard getuid() != 0 else {
      #expect(StoreError.system(EACCES, "x").code == .forbidden)
      return
    }
    chmod(root, 0o500)
    defer { chmod(root, 0o700) }
    #expect(await code { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) } == .forbidden)
  }

  @Test(arguments: [
    (ENOSPC, StoreError.Code.full), (EDQUOT, .full), (EROFS, .forbidden), (EIO, .fileSystem), (ESTALE, .unavailable),
    (EHOSTDOWN, .unavailable), (EBUSY, .unavailable), (ETXTBSY, .unavailable), (EINTR, .unavailable),
    (EKEYEXPIRED, .unavailable),
  ])
  func `what the system says gets its meaning`(_ number: Int32, _ code: StoreError.Code) {
    let error = StoreError.system(number, "packs/x could not be written")
    #expect(error.code == code)
    #expect(error.message.hasPrefix("packs/x could not be written: "))
    #expect((error.retry != .never) == (code == .unavailable))
  }

  /// Btrfs and ZFS say EIO of what fails their checksums; ext4 and XFS have words of their own for what they find.
  @Test(arguments: [
    (EIO, StoreError.Code.unreadable), (EUCLEAN, .unreadable), (EBADMSG, .unreadable), (ESTALE, .unavailable),
    (EACCES, .forbidden),
  ])
  func `content that the disk cannot give is the trouble of one object`(_ number: Int32, _ code: StoreError.Code) {
    let error = StoreError.content(number, "packs/x could not be read")
    #expect(error.code == code && error.message.hasPrefix("packs/x could not be read: "))
    #expect((error.hint?.contains("`sealift repair`") == true) == (code == .unreadable))
  }

  private static func mount(_ type: String) -> MountTable.Mount? {
    MountTable(parsing: "22 1 0:40 / / rw - \(type) nas:/export rw").mounts.first
  }

  /// NFS that is mounted softly, SMB and sshfs say EIO when their server does not answer.
  @Test(arguments: ["nfs", "nfs4", "cifs", "smb3", "fuse", "fuse.sshfs", "fuse.rclone"])
  func `of a mount EIO may say that its server does not answer`(_ type: String) throws {
    let mount = try #require(Self.mount(type))
    let folder = StoreError.system(EIO, "packs could not be opened").said(by: mount)
    #expect(folder.code == .unavailable && folder.retry == .later(after: nil))
    #expect(folder.message.hasPrefix("packs could not be opened: ") && folder.hint?.contains(type) == true)
    // Its disk may have lost one object, which must not keep anybody from the others.
    let object = StoreError.content(EIO, "packs/x could not be read").said(by: mount)
    #expect(object.code == .unreadable && object.retry == .later(after: nil))
    #expect(object.hint?.contains(type) == true && object.hint?.contains("`sealift repair`") == true)
    for number in [EUCLEAN, EBADMSG, ENOSPC] {
      #expect(StoreError.content(number, "packs/x could not be read").said(by: mount).retry == .never)
    }
  }

  @Test func `the list of mounts is read where the system says EIO alone`() {
    func mount() -> MountTable.Mount? {
      Issue.record("it was read")
      return nil
    }
    #expect(StoreError.system(ESTALE, "packs could not be opened").said(by: mount()).code == .unavailable)
    #expect(StoreError.content(EUCLEAN, "packs/x could not be read").said(by: mount()).code == .unreadable)
  }

  @Test(arguments: ["ext4", "btrfs", "overlay", "fuseblk", "fuse.mergerfs", "fuse.gocryptfs"])
  func `of a disk EIO says that it is broken`(_ type: String) throws {
    let disk = try #require(Self.mount(type))
    for mount in [disk as MountTable.Mount?, nil] {
      let folder = StoreError.system(EIO, "packs could not be opened").said(by: mount)
      #expect(folder.code == .fileSystem && folder.retry == .never && folder.hint == nil)
      let object = StoreError.content(EIO, "packs/x could not be read").said(by: mount)
      #expect(object.code == .unreadable && object.retry == .never)
    }
  }

  @Test func `an object in a bad sector is listed, and cannot be read`() async throws {
    await #expect(processExitsWith: .success) { [root = root as String] in
      let store = try FolderStore(path: root)
      let name = ObjectName("packs/one")!
      try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
      guard FailingCalls.fail(.read, with: EIO) else { fatalError("this kernel takes no filters") }
      for range in [nil, 0..<1] {
        let error = await #expect(throws: StoreError.self) { try await store.get(name, range: range) }
        #expect(error?.code == .unreadable && error?.retry == .never)
      }
      var mounted = store
      mounted.mount = { FolderStoreTests.mount("nfs4") }
      let share = mounted
      let error = await #expect(throws: StoreError.self) { try await share.get(name, range: nil) }
      #expect(error?.code == .unreadable && error?.retry == .later(after: nil))
      let listed = try await store.list(prefix: "packs/")
      #expect(listed.map(\.name) == [name])
    }
  }

  @Test func `a full disk is said to be full and leaves nothing under the name`() async throws {
    // A limit on file size is the one full disk a test can have without being root.
    await #expect(processExitsWith: .success) { () async throws -> Void in
      let scratch = try Scratch()
      let store = try FolderStore(path: scratch.path)
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
      setrlimit(__rlimit_resource_t(1), &limit)
      let name = ObjectName("packs/big")!
      do throws(StoreError) {
        try await store.put(ObjectBody([UInt8](repeating: 1, count: 50_000)), at: name, ifAbsent: false)
        exit(2)
      } catch {
        guard error.code == .full, try await store.head(name) == nil else { exit(3) }
        guard try await store.list(prefix: "tmp/").isEmpty else { exit(4) }
      }
    }
  }
}
