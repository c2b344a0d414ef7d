import Glibc
import Testing

@testable import Operations

@Suite struct PrivatePipeTests {
  @Test func `a pipe of ours is no child's`() throws {
    let ends = try #require(PrivatePipe.make())
    defer { for end in [ends.read, ends.write] { close(end) } }
    for end in [ends.read, ends.write] { #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0) }
    var byte: UInt8 = 7
    #expect(write(ends.write, &byte, 1) == 1)
    byte = 0
    #expect(read(ends.read, &byte, 1) == 1)
    #expect(byte == 7)
  }
}
