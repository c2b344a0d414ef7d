import Glibc
import TestKit
import Testing

@testable import SealiftTool

/// The state folder is made where it is to be, and its name is as durable as the file system makes names.
@Suite struct StatePlaceTests {
  /// As folders that a virtual machine's host lends say of their names; a disk that fails says something else.
  @Test(arguments: [(EINVAL, true), (EOPNOTSUPP, true), (EIO, false)] as [(Int32, Bool)])
  func `a file system that cannot make names durable is no error, one that fails is`(_ number: Int32, _ isFine: Bool)
    async throws
  {
    await #expect(processExitsWith: .success) { [number = number as Int32, isFine = isFine as Bool] in
      let scratch = try Scratch()
      guard FailingCalls.fail(.fsync, with: number) else { fatalError("this kernel takes no filters") }
      let isMade = (try? StatePlace.make(scratch.file("state/below"))) != nil
      #expect(isMade == isFine)
      #expect((access(scratch.file("state/below"), F_OK) == 0) == isFine)
    }
  }

  @Test func `a home that is relative is none, and nothing is made below it`() async throws {
    var program = try Program()
    program.environment["HOME"] = "."
    for command in [["config", "check"], ["--target", "file://\(program.file("target"))", "list"]] {
      let ending = try await program.start(Program.path, ["--json"] + command)
      #expect(ending.status == 2, "\(command): \(ending.error)")
      #expect(try ending.errorDocument().code == "noStateFolder")
    }
    #expect(!program.exists(".local"))
  }

  @Test func `a relative state folder in a working folder that is gone is made nowhere`() async throws {
    let program = try Program()
    let ending = try await program.shell(
      "mkdir gone && cd gone && rmdir ../gone && SEALIFT_STATE=sealift-state \"$0\" --json config check")
    #expect(ending.status == 2, "\(ending.error)")
    #expect(try ending.errorDocument().code == "noStateFolder")
    #expect(access("/sealift-state", F_OK) != 0)
  }
}
