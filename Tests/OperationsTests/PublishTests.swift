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
}
