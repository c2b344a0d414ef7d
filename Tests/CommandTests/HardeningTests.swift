import Glibc
import TestKit
import Testing

@testable import SealiftTool

/// What the program does before anything else, so that nothing goes where it should not.
@Suite struct HardeningTests {
  @Test(arguments: ["/dev/null", "/nonexistent/null"])
  func `what takes the place of a closed stream cannot be used`(nothing: String) async {
    // Descriptors are those of a whole process: in one of its own, where no other thread opens a file meanwhile that takes
    // the place of a closed stream.
    await #expect(processExitsWith: .success) { [nothing = nothing as String] in
      ownDescriptors()
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

  /// As a full disk below a table that is mapped does it, where the file system copies on write.
  @Test func `a mapped file whose disk refuses it ends the program with a word`() async throws {
    let program = try Program()
    let started = program.file("started")
    try program.write(
      """
      {"targets": {"t": {"url": "file://\(program.file("target"))",
                         "passphraseCommand": "touch \(started); while [ -e \(started) ]; do sleep 0.1; done"}}}
      """, to: "slow.json")
    #expect(mkdir(program.file("target"), 0o700) == 0)
    let line = #"said=$1; shift; exec "$@" 2> "$said""#
    let child = try Child(
      [
        "env", "HOME=\(program.file("home"))", "sh", "-c", line, "sh", program.file("said"), Program.path, "--config",
        program.file("slow.json"), "init",
      ])
    #expect(try await eventually { program.exists("started") })
    child.signal(SIGBUS)
    #expect(await child.end() == 1)
    unlink(started)
    let said = String(decoding: try fileBytes(program.file("said")), as: UTF8.self)
    #expect(said.hasSuffix("its disk is full or failing, or the file was cut short\n"), "\(said)")
    #expect(said.contains("sealift: error: a file that is mapped into memory could not be read or written: "))
  }
}

/// Gives the calling thread a table of descriptors of its own (unshare(2)). Where a container forbids that, it goes on with
/// the process's.
private func ownDescriptors() {
  typealias Unshare = @convention(c) (Int32) -> Int32
  let files: Int32 = 0x400  // CLONE_FILES
  guard let address = LoadedSymbol.address("unshare") else { return }
  _ = unsafeBitCast(address, to: Unshare.self)(files)
}
