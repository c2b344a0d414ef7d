import Glibc
import Platform
import Testing

/// What a file system says of itself is no reason to die.
@Suite struct FreeSpaceTests {
  private func free(_ blocks: UInt, of size: UInt) -> Int {
    var space = statvfs()
    space.f_bavail = blocks
    space.f_frsize = size
    return space.freeBytes
  }

  @Test func `free bytes are counted, and no more than there can be`() {
    #expect(free(0, of: 4096) == 0)
    #expect(free(10, of: 4096) == 40_960)
    #expect(free(.max, of: 4096) == .max)
    // These come to nothing in 64 bits, and to less than nothing in 63.
    #expect(free(1 << 62, of: 4) == .max)
    #expect(free(1 << 61, of: 4) == .max)
  }
}
