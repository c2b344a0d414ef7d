import Glibc
import TestKit
import Testing

@testable import Repositories

/// A state folder on any file system that people have.
@Suite struct DurableNamesTests {
  /// As folders that a virtual machine's host lends say of their names; a disk that fails says something else.
  @Test(arguments: [(EINVAL, true), (EOPNOTSUPP, true), (EIO, false)] as [(Int32, Bool)])
  func `a file system that cannot make names durable is no error, one that fails is`(_ number: Int32, _ isFine: Bool)
    async throws
  {
    await #expect(processExitsWith: .success) { [number = number as Int32, isFine = isFine as Bool] in
      let scratch = try Scratch()
      guard FailingCalls.fail(.fsync, with: number) else { fatalError("this kernel takes no filters") }
      let isMade = (try? StateFiles.makeFolder(scratch.file("state/below"))) != nil
      #expect(isMade == isFine)
      let isDurable = (try? StateFiles.synchronizeFolder(of: scratch.file("file"))) != nil
      #expect(isDurable == isFine)
    }
  }
}
