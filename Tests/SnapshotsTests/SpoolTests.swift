import Glibc
import Snapshots
import TestKit
import Testing

@Suite struct SpoolTests {
  @Test func `a spool is private, and goes when it is removed`() throws {
    let state = try Scratch()
    let spool = try Spool.open(in: state.file("state"))
    #expect(mode(of: state.file("state")) == 0o700)
    #expect(mode(of: state.file("state/spool")) == 0o700)
    #expect(mode(of: spool.path) == 0o700)
    #expect(mode(of: spool.path + "/lock") == 0o600)
    try writeFile(spool.path + "/image.sqlite", [1, 2, 3])
    spool.remove()
    spool.remove()
    #expect(try names(in: state.file("state/spool")) == ["lock"])
  }

  @Test func `a spool goes with its value`() throws {
    let state = try Scratch()
    do {
      let spool = try Spool.open(in: state.path)
      try writeFile(spool.path + "/image.sqlite", [1])
    }
    #expect(try names(in: state.file("spool")) == ["lock"])
  }

  @Test func `sweeping leaves the living alone, and takes what the dead left`() throws {
    let state = try Scratch()
    let living = try Spool.open(in: state.path)
    mkdir(state.file("spool/0123456789abcdef"), 0o700)
    try writeFile(state.file("spool/0123456789abcdef/image.sqlite"), [1])
    try writeFile(state.file("spool/0123456789abcdef/lock"), [])
    // Died before its lock was made.
    mkdir(state.file("spool/fedcba9876543210"), 0o700)
    #expect(Spool.sweep(in: state.path) == 2)
    #expect(try names(in: state.file("spool")) == ["lock", String(living.path.split(separator: "/").last!)].sorted())
    #expect(Spool.sweep(in: state.path) == 0)
    living.remove()
  }

  @Test func `what another user's run has left, and cannot be removed, is told`() async throws {
    let scratch = try Scratch()
    chmod(scratch.path, 0o755)
    let left = scratch.file("state/spool/0123456789abcdef")
    for folder in ["state", "state/spool", "state/spool/0123456789abcdef"] { mkdir(scratch.file(folder), 0o700) }
    try writeFile(left + "/image.sqlite", [1])
    if geteuid() == 0 { for folder in ["state", "state/spool"] { chown(scratch.file(folder), nobody, nobody) } }
    chmod(left, 0)
    await #expect(processExitsWith: .success) { [state = scratch.file("state") as String] in
      dropPrivileges()
      let living = try Spool.open(in: state)
      var told: [String] = []
      let removed = Spool.sweep(in: state) { told.append($0) }
      #expect(removed == 0)
      #expect(told == [state + "/spool/0123456789abcdef"])
      living.remove()
    }
    chmod(left, 0o700)
    #expect(try names(in: left) == ["image.sqlite"])
  }

  /// It may be a terminal that was stopped, or an application that waits for another push.
  @Test func `whoever is told of what stays keeps nobody from opening a spool`() throws {
    let state = try Scratch()
    // Its lock is no file, and cannot be taken.
    for folder in ["spool", "spool/0123456789abcdef", "spool/0123456789abcdef/lock"] {
      mkdir(state.file(folder), 0o700)
    }
    var opened: [Bool] = []
    let removed = Spool.sweep(in: state.path) { _ in opened.append((try? Spool.open(in: state.path)) != nil) }
    #expect(removed == 0 && opened == [true])
  }

  @Test func `a run that stands still holds up no sweep, others for a while, or until cancelled`() async throws {
    let state = try Scratch()
    try Spool.open(in: state.path).remove()
    mkdir(state.file("spool/0123456789abcdef"), 0o700)
    let held = open(state.file("spool/lock"), O_RDWR | O_CLOEXEC)
    defer { close(held) }
    try #require(held >= 0 && flock(held, LOCK_EX) == 0)
    #expect(Spool.sweep(in: state.path) == 0)
    let waiting = Task.detached { [path = state.path] in try Spool.open(in: path).remove() }
    try await Task.sleep(for: .milliseconds(50))
    waiting.cancel()
    let cancelled = await #expect(throws: SnapshotError.self) { try await waiting.value }
    #expect(cancelled?.code == .cancelled)
    let refused = #expect(throws: SnapshotError.self) {
      try Spool.open(in: state.path, patience: .milliseconds(50))
    }
    #expect(refused?.code == .spool && refused?.message.contains("another run holds") == true)
    try #require(flock(held, LOCK_UN) == 0)
    #expect(Spool.sweep(in: state.path) == 1)
  }

  @Test func `a link among the spools is not followed`() throws {
    let state = try Scratch()
    let spool = try Spool.open(in: state.path)
    mkdir(state.file("precious"), 0o700)
    try writeFile(state.file("precious/file"), [1])
    symlink(state.file("precious"), state.file("spool/0123456789abcdef"))
    #expect(Spool.sweep(in: state.path) == 0)
    #expect(try names(in: state.file("precious")) == ["file"])
    spool.remove()
  }

  /// A configuration that says `/var` for a state folder must not cost the mail and the print jobs in `/var/spool`.
  @Test func `what is no spool of ours is left alone`() throws {
    let state = try Scratch()
    for folder in ["spool", "spool/mail", "spool/cron", "spool/0123456789ABCDEF", "spool/0123456789abcdef0"] {
      mkdir(state.file(folder), 0o700)
    }
    try writeFile(state.file("spool/mail/root"), [1])
    #expect(Spool.sweep(in: state.path) == 0)
    #expect(
      try names(in: state.file("spool")) == ["0123456789ABCDEF", "0123456789abcdef0", "cron", "lock", "mail"].sorted())
    #expect(try names(in: state.file("spool/mail")) == ["root"])
  }

  /// As folders that a virtual machine's host lends say of their names; a disk that fails says something else.
  @Test(arguments: [(EINVAL, true), (EOPNOTSUPP, true), (EIO, false)] as [(Int32, Bool)])
  func `a file system that cannot make names durable is no error, one that fails is`(_ number: Int32, _ isFine: Bool)
    async throws
  {
    await #expect(processExitsWith: .success) { [number = number as Int32, isFine = isFine as Bool] in
      let scratch = try Scratch()
      guard FailingCalls.fail(.fsync, with: number) else { fatalError("this kernel takes no filters") }
      let spool = try? Spool.open(in: scratch.file("state"))
      #expect((spool != nil) == isFine)
      spool?.remove()
    }
  }

  @Test func `a state folder that cannot be made is an explained error`() throws {
    let error = #expect(throws: SnapshotError.self) { try Spool.open(in: "/dev/null/state") }
    #expect(error?.code == .spool)
    #expect(error?.hint != nil)
  }
}
