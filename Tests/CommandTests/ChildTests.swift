import Glibc
import TestKit
import Testing

/// What the tests start must be as a shell would start it, whatever thread starts it.
@Suite struct ChildTests {
  @Test func `what tests start has no signal blocked or ignored`() async throws {
    let told = try await Child.run(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
    let sets = told.output.split(separator: "\n").compactMap { UInt64($0.suffix(16), radix: 16) }
    // Two behind the 31 that have a name are the C library's own.
    #expect(sets.map { $0 & 0x7fff_ffff } == [0, 0], "\(told)")
  }

  @Test func `what tests start has nothing open but the three`() async throws {
    let other = open("/dev/null", O_RDONLY)
    defer { close(other) }
    let told = try await Child.run(["sh", "-c", "ls /proc/$$/fd"])
    // Some shells hold their own script open.
    #expect(told.output.split(separator: "\n").compactMap { Int32($0) }.filter { $0 < 10 } == [0, 1, 2], "\(told)")
    let looked = try await Child.run(["sh", "-c", "test ! -e /proc/$$/fd/\(other)"])
    #expect(looked.isSuccess)
  }

  @Test func `what it prints and how it ends is told`() async throws {
    let ended = try await Child.run(["sh", "-c", "echo out; echo error >&2; exit 3"])
    #expect(ended.status == 3 && !ended.isSuccess && ended.output == "out\n" && ended.error == "error\n")
    #expect(try await Child.run(["sh", "-c", "kill -TERM $$"]).status == -15)
    let alone = try await Child.run(["/usr/bin/env"], environment: ["ONLY": "this"])
    #expect(alone.isSuccess && alone.output == "ONLY=this\n")
    #expect(throws: Child.CouldNotStart.self) { _ = try Child(["/nonexistent/program"]) }
  }
}
