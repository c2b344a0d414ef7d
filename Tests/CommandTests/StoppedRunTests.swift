import Glibc
import Operations
import TestKit
import Testing

@testable import SealiftTool

/// A timer ends a push of several databases, night after night, at a target that does not answer.
@Suite struct StoppedRunTests {
  /// Two databases, which go to a target that nobody can open, and then to a disk.
  private func home() async throws -> Home {
    let home = try Home()
    let program = home.program
    try SQLite.run("CREATE TABLE t(b); INSERT INTO t VALUES ('a')", on: program.file("other.db"))
    try await home.must("init")
    #expect(mkdir(program.file("slow"), 0o700) == 0)
    try program.write(
      """
      {"host": "web-1", "stateFolder": "\(program.file("state"))",
       "targets": {"a-slow": {"url": "file://\(program.file("slow"))",
                              "passphraseCommand": "touch \(program.file("asked")); exec sleep 600"},
                   "disk": {"url": "\(home.target)", "keyFile": "\(program.file("key"))"}},
       "databases": {"app": {"path": "\(program.file("app.db"))"}, "other": {"path": "\(program.file("other.db"))"}}}
      """, to: "two.json")
    return home
  }

  /// A push that is stopped as soon as the secret is asked for.
  private func night(_ home: Home) async throws -> (output: String, error: String) {
    let program = home.program
    for name in ["asked", "output", "error"] { unlink(program.file(name)) }
    let child = try Child(
      [
        "env", "HOME=\(program.file("home"))", "sh", "-c", "exec \"$@\" 2> \"$0\"", program.file("error"), Program.path,
        "--config", program.file("two.json"), "push",
      ], output: program.file("output"))
    #expect(try await eventually { program.exists("asked") })
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    func text(_ name: String) throws -> String { String(decoding: try home.bytes(name), as: UTF8.self) }
    return (try text("output"), try text("error"))
  }

  @Test func `each database goes to the other targets the next time, and what did not go is named`() async throws {
    let home = try await home()
    let first = try await night(home)
    #expect(first.output.isEmpty)
    #expect(
      first.error.contains("not pushed are app -> a-slow, app -> disk, other -> a-slow, other -> disk."), "\(first)")
    let second = try await night(home)
    for name in ["app", "other"] { #expect(second.output.contains("\(name) -> disk: version "), "\(second)") }
    #expect(second.error.contains("not pushed are app -> a-slow, other -> a-slow."), "\(second)")
  }

  @Test func `a database that could not be copied has no second turn`() {
    let (app, other) = (DatabaseSource(name: "app", path: "/app"), DatabaseSource(name: "other", path: "/other"))
    var report = PushReport()
    report.failed("app", nil, OperationError(.sourceUnreadable, "m"))
    report.failed("other", "disk", OperationError(.failed, "m"))
    #expect(!report.awaits(app) && report.awaits(other))
  }

  @Test func `what a second turn says is told in its place, and not twice`() throws {
    var manner = Terminal.Manner()
    manner.json = true
    let app = (database: DatabaseSource(name: "app", path: "/app"), targets: ["slow", "disk"])
    let other = (database: DatabaseSource(name: "other", path: "/other"), targets: ["slow", "disk"])
    var report = PushReport(of: [app, other])
    report.failed("other", "disk", OperationError(.wrongKey, "m"))
    report.failed("app", "slow", OperationError(.failed, "m"))
    // That of the first one is the status where nothing is safe.
    #expect(try report.end(Terminal(manner)) == .failed)
    var errors: [OperationError] = []
    for message in ["m", "n", "m"] { errors.addOnce(OperationError(.failed, message)) }
    #expect(errors.map(\.message) == ["m", "n"])
  }
}
