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
}
