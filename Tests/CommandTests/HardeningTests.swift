import Glibc
import TestKit
import Testing

@testable import SealiftTool

/// What the program does before anything else, so that nothing goes where it should not.
@Suite struct HardeningTests {
  @Test(arguments: ["/dev/null", "/nonexistent/null"])
  func `what takes the place of a closed stream cannot be used`(nothing: String) async {
    // Descriptors are those of a whole process: in one of its own.
    await #expect(processExitsWith: .success) { [nothing = nothing as String] in
      for stream in STDIN_FILENO...STDERR_FILENO { close(stream) }
      Hardening.keepStandardStreams(nothing)
      let ours = open("/", O_RDONLY | O_CLOEXEC)
      #expect(ours > STDERR_FILENO)
      var byte: UInt8 = 1
      #expect(read(STDIN_FILENO, &byte, 1) < 0)
      for stream in [STDOUT_FILENO, STDERR_FILENO] {
        let count = write(stream, &byte, 1)
        let problem = errno
        #expect(count < 0 && problem == EBADF)
      }
    }
  }

  @Test func `where nothing can take its place, the program ends before it opens anything`() async {
    await #expect(processExitsWith: .exitCode(1)) {
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
      close(STDERR_FILENO)
      Hardening.keepStandardStreams()
    }
  }
}
