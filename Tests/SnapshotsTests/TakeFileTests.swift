import Glibc
import Snapshots
import Storage
import TestKit
import Testing

/// A file is taken as it is, and only when it stood still.
@Suite struct TakeFileTests {
  private static let mebibyte = 1 << 20

  private func take(
    _ desk: Desk, attempts: Int = 5, progress: @escaping @Sendable (SnapshotProgress) throws -> Void = { _ in }
  ) async throws -> Snapshot {
    var request = FileRequest(source: desk.source, spoolFolder: desk.spool)
    request.attempts = attempts
    return try await takeFile(request, progress: progress)
  }

  private func refusal(
    _ desk: Desk, attempts: Int = 2, progress: @escaping @Sendable (SnapshotProgress) throws -> Void = { _ in }
  ) async throws -> SnapshotError? {
    let error = await #expect(throws: SnapshotError.self) {
      try await take(desk, attempts: attempts, progress: progress)
    }
    #expect(try names(in: desk.spool).isEmpty)
    return error
  }

  @Test(arguments: [1, 511, 65_536, 3 * mebibyte + 17])
  func `every byte, in a private file, with what stat said`(_ size: Int) async throws {
    var random = SeededRandom(UInt64(size))
    let desk = try Desk("export.db")
    let content = random.bytes(size)
    try writeFile(desk.source, content)
    chmod(desk.source, 0o640)
    let snapshot = try await take(desk)
    #expect(try fileBytes(snapshot.path) == content)
    #expect(mode(of: snapshot.path) == 0o600)
    #expect(snapshot.form == .file && snapshot.length == size)
    #expect(snapshot.source == (try SourceSignature.read(desk.source)) && snapshot.source.mode == 0o640)
    #expect(try names(in: desk.spool).count == 1)
  }

  @Test func `a change in the middle is noticed, and the file read again`() async throws {
    let desk = try Desk("export.db")
    try writeFile(desk.source, [UInt8](repeating: 5, count: 3 * Self.mebibyte))
    let calls = Locked(0)
    let source = desk.source
    let snapshot = try await take(desk) { _ in
      // Behind what was read, and before it: a copy would be of two moments.
      guard count(calls) == 2 else { return }
      overwrite(source, at: 10, [6])
      overwrite(source, at: 3 * Self.mebibyte - 10, [6])
    }
    #expect(calls.withLock { $0 } > 3)
    #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
    #expect(try names(in: desk.spool).count == 1)
  }

  @Test func `what never stands still is an error`() async throws {
    let desk = try Desk("export.db")
    try writeFile(desk.source, [UInt8](repeating: 5, count: 2 * Self.mebibyte))
    let source = desk.source
    let calls = Locked(0)
    let error = try await refusal(desk, attempts: 3) { _ in
      overwrite(source, at: 0, [UInt8(truncatingIfNeeded: count(calls))])
    }
    #expect(error?.code == .changedMeanwhile)
    #expect(error?.message.contains("3 copies") == true && error?.hint?.hasSuffix(".") == true)
  }

  @Test func `a file that takes its name is the one that is taken`() async throws {
    let desk = try Desk("store.xml")
    let old = "<?xml version=\"1.0\"?><database>" + String(repeating: "old ", count: Self.mebibyte)
    let new = "<?xml version=\"1.0\"?><database>" + String(repeating: "new ", count: Self.mebibyte)
    try writeFile(desk.source, Array(old.utf8))
    let calls = Locked(0)
    let (source, next) = (desk.source, desk.scratch.file("live/next"))
    let snapshot = try await take(desk) { _ in
      guard count(calls) == 2 else { return }
      try writeFile(next, Array(new.utf8))
      rename(next, source)
    }
    #expect(try fileBytes(snapshot.path) == Array(new.utf8))
    #expect(snapshot.form == .atomicStore(.xml))
    unlink(snapshot.path)
    // One that is gone for good is missing.
    let gone = try await refusal(desk) { _ in unlink(source) }
    #expect(gone?.code == .missing)
  }

  /// A page that is mapped and dirty already changes no time when it is written to once more.
  @Test func `a change that the times do not show is noticed while they are young`() async throws {
    for _ in 0..<20 where try await takesUntoldChange() { return }
    Issue.record("the times told each time, or were old")
  }

  /// - Returns: false where nothing was tried: the kernel has written the page back in between, and the times told; or this
  ///   test had to wait until they were old.
  private func takesUntoldChange() async throws -> Bool {
    let desk = try Desk("mapped.db")
    let size = 2 * Self.mebibyte
    try writeFile(desk.source, [UInt8](repeating: 5, count: size))
    let file = open(desk.source, O_RDWR)
    defer { close(file) }
    let memory = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
    defer { munmap(memory, size) }
    let address = UInt(bitPattern: memory)
    memory.storeBytes(of: 6, as: UInt8.self)
    let before = try SourceSignature.read(desk.source)
    let (calls, told) = (Locked(0), Locked(false))
    let source = desk.source
    let snapshot = try await take(desk) { _ in
      guard count(calls) == 2 else { return }
      UnsafeMutableRawPointer(bitPattern: address)?.storeBytes(of: 7, as: UInt8.self)
      let now = try SourceSignature.read(source)
      told.withLock { $0 = now != before }
    }
    guard !told.withLock({ $0 }), !snapshot.source.isSettled else { return false }
    #expect(try fileBytes(snapshot.path).first == 7)
    return true
  }

  @Test func `a database is not taken as a file, nor what is in use`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let plain = try await refusal(desk)
    #expect(plain?.code == .plainDatabase && plain?.hint?.contains("vacuum") == true)

    var random = SeededRandom(1)
    try writeFile(desk.source, random.bytes(8192))
    for ending in ["-wal", "-journal", "-shm"] {
      try writeFile(desk.source + ending, [1, 2, 3])
      let error = try await refusal(desk)
      #expect(error?.code == .sideFiles && error?.message.contains(ending) == true)
      try writeFile(desk.source + ending, [])
    }
    #expect(try await take(desk).length == 8192)
  }

  @Test func `what is no file is refused as ever`() async throws {
    let cases: [(SnapshotError.Code, (String) throws -> Void)] = [
      (.missing, { _ in }), (.isDirectory, { mkdir($0, 0o755) }), (.empty, { try writeFile($0, []) }),
      (.notADatabase, { mkfifo($0, 0o644) }), (.notADatabase, { symlink("/dev/zero", $0) }),
      (.otherFormat, { try writeFile($0, [0x37, 0x7f, 0x06, 0x83] + [UInt8](repeating: 0, count: 100)) }),
    ]
    for (code, make) in cases {
      let desk = try Desk("thing")
      try make(desk.source)
      #expect(try await refusal(desk)?.code == code)
    }
  }

  @Test func `it can be stopped, and leaves nothing`() async throws {
    struct Enough: Error {}
    let desk = try Desk("export.db")
    try writeFile(desk.source, [UInt8](repeating: 5, count: 3 * Self.mebibyte))
    await #expect(throws: Enough.self) { try await take(desk) { _ in throw Enough() } }
    #expect(try names(in: desk.spool).isEmpty)
    let (began, stopped) = (Locked(false), Locked(false))
    let task = Task { [self] in
      try await take(desk) { _ in
        began.withLock { $0 = true }
        while !stopped.withLock({ $0 }) { usleep(1000) }
      }
    }
    #expect(try await eventually { began.withLock { $0 } })
    task.cancel()
    stopped.withLock { $0 = true }
    let error = await #expect(throws: SnapshotError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(try names(in: desk.spool).isEmpty)
  }
}

private func overwrite(_ path: String, at offset: Int, _ bytes: [UInt8]) {
  let file = open(path, O_WRONLY)
  pwrite(file, bytes, bytes.count, off_t(offset))
  close(file)
}

/// How often it was asked, this time included.
private func count(_ calls: Locked<Int>) -> Int {
  calls.withLock { calls in
    calls += 1
    return calls
  }
}
