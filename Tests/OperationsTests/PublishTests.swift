import FoundationEssentials
import Glibc
import Platform
import Storage
import TestKit
import Testing

@testable import Operations

/// The instant in which a restored file gets its name.
@Suite struct PublishTests {
  /// Somebody is faster, between the last look and the name: here the look sees nothing at all any more.
  @Test func `a file that appears after the last look is not replaced`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    await #expect(processExitsWith: .success) { [path = path as String] in
      let file = try RestoredFile(for: path)
      try file.setLength(3)
      try writeFile(path, [7])
      guard FailingCalls.fail(.look, with: ENOENT) else { fatalError("this kernel takes no filters") }
      #expect(throws: OperationError.self) { try file.publish() }
    }
    #expect(try fileBytes(path) == [7])
  }

  /// The system knows a path up to its first zero byte only.
  @Test func `a name with a zero byte in it is none`() throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    let file = #expect(throws: OperationError.self) { _ = try RestoredFile(for: path + "\0x") }
    #expect(file?.kind == .usage)
    try writeFile(path, [7])
    let live = #expect(throws: OperationError.self) { try Restore.realPlace(of: path + "\0x") }
    #expect(live?.code == "noFile")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["out.db"])
  }

  /// The disk fails in the instant after the name: the one that is told so finds no file.
  @Test func `a name that cannot be made durable is taken back`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    await #expect(processExitsWith: .success) { [path = path as String] in
      let file = try RestoredFile(for: path)
      try file.setLength(3)
      try file.write([1, 2, 3], at: 0)
      guard FailingCalls.fail(.openFolder, with: EIO) else { fatalError("this kernel takes no filters") }
      #expect(throws: OperationError.self) { try file.publish() }
      #expect(access(path, F_OK) != 0 && access(file.temporaryPath, F_OK) == 0)
      file.withdraw()
      file.discard()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
  }

  /// To close a file drops all locks of its process on it (sqlite.org/howtocorrupt.html, 2.2).
  @Test func `a file that has its name is closed, and takes no locks away later`() throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    var file: RestoredFile? = try RestoredFile(for: path)
    try file?.setLength(3)
    try file?.publish()
    let lock = try HeldLock(on: path)
    file?.discard()
    file = nil
    #expect(lock.stands)
  }

  @Test func `the thread that brings it to the disk may end when the file is somebody else's`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    try writeFile(path, [7])
    let (isLate, isGone) = (Locked(true), Locked(false))
    let hasMarked = Locked(false)
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    var back: WriteBack? = WriteBack(of: descriptor) { [last = Goodbye({ isGone.withLock { $0 = true } })] in
      hasMarked.withLock { $0 = true }
      while isLate.withLock({ $0 }) { usleep(1000) }
      withExtendedLifetime(last) {}
    }
    back?.wrote(64 << 20)
    #expect(try await eventually { hasMarked.withLock { $0 } })
    #expect(back?.finish() == 0)
    back?.close()
    back = nil
    let lock = try HeldLock(on: path)
    isLate.withLock { $0 = false }
    #expect(try await eventually { isGone.withLock { $0 } })
    #expect(lock.stands)
  }

  @Test func `where no thread could be started, one is tried again after as many bytes`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    try writeFile(path, [7])
    let (tries, hasMarked) = (Locked(0), Locked(false))
    let back = WriteBack(of: open(path, O_RDWR | O_CLOEXEC), marked: { hasMarked.withLock { $0 = true } }) { run in
      let number = tries.withLock { tries in
        tries += 1
        return tries
      }
      return number == 1 ? EAGAIN : startThread(run)
    }
    back.wrote(64 << 20)
    #expect(!hasMarked.withLock { $0 })
    back.wrote(64 << 20)
    #expect(try await eventually { hasMarked.withLock { $0 } })
    #expect(back.finish() == 0)
  }

  /// The name is somebody else's by then.
  @Test func `a file of somebody else's is not taken back`() throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    let file = try RestoredFile(for: path)
    try file.setLength(3)
    try file.publish()
    try writeFile(scratch.file("other"), [7])
    try #require(rename(scratch.file("other"), path) == 0)
    _ = file.unnamed(after: OperationError(.failed, "the disk failed"))
    file.withdraw()
    file.discard()
    #expect(try fileBytes(path) == [7])
  }

  @Test func `nor is one that had the name before`() throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    let file = try RestoredFile(for: path)
    try file.setLength(3)
    try writeFile(path, [7])
    _ = file.unnamed(after: OperationError(.failed, "the disk failed"))
    #expect(try fileBytes(path) == [7])
    file.discard()
  }
}

/// Says when it goes.
private final class Goodbye: Sendable {
  private let say: @Sendable () -> Void
  init(_ say: @escaping @Sendable () -> Void) { self.say = say }
  deinit { say() }
}
