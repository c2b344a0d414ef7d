import FoundationEssentials
import Glibc
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
}
