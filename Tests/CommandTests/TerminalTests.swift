import Backends
import Glibc
import Operations
import Platform
import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import SealiftTool

/// What a person at a terminal sees.
@Suite struct TerminalTests {
  private func play(_ program: Program, _ answers: String, _ arguments: String...) async throws -> String {
    try await PlayedTerminal(answers: answers).screen(of: program, arguments)
  }

  /// A shell that waits, one that has closed its terminal, and one that never rests.
  @Test(arguments: [
    ("exec sleep 900", 5), ("exec sleep 900 <&- >&- 2>&-", 5), ("while :; do :; done", 2),
  ])
  func `what gets no further is killed, and what was on the screen is told`(line: String, limit: Int) async throws {
    let program = try Program()
    var terminal = PlayedTerminal()
    terminal.limit = limit
    let ending = try await terminal.start(["/bin/sh", "-c", "echo begun; \(line)"], of: program)
    #expect(ending.status == 1 && ending.error == "it did not end by itself\n", "\(ending)")
    #expect(ending.output.hasPrefix("begun") && ending.output.hasSuffix("asked 0 status -9\n"), "\(ending)")
  }

  @Test func `a new passphrase is asked twice, a known one once, and never shown`() async throws {
    let program = try Program()
    let target = "file://\(program.file("target"))"
    let made = try await play(program, #"open sesame\n|open sesame\n"#, "--target", target, "init")
    #expect(made.contains("asked 2 status 0"), "\(made)")
    #expect(made.contains("sealift: new passphrase for file://"))
    let listed = try await play(program, #"open sesame\n"#, "--target", target, "key", "list")
    #expect(listed.contains("asked 1 status 0"), "\(listed)")
    #expect(listed.contains("in use now"))
    for screen in [made, listed] {
      #expect(!screen.contains("sesame"))
      #expect(!screen.contains("ECHO IS ON"))
    }
  }

  /// All that is left of a lost machine may be a printed key.
  @Test func `a recovery key may be typed where a passphrase is asked for`() async throws {
    let program = try Program()
    let target = "file://\(program.file("target"))"
    try program.write("a key of at least thirty-two bytes, known to nobody\n", to: "key")
    let made = try await program("--target", target, "--key-file", "key", "init")
    let printed = try await program("--target", target, "--key-file", "key", "-q", "key", "recovery")
    #expect(made.status == 0 && printed.status == 0, "\(made.error)\(printed.error)")
    let key = printed.output.filter { !$0.isNewline }.lowercased()
    let listed = try await play(program, "\(key)\\n", "--target", target, "key", "list")
    #expect(listed.contains("asked 1 status 0"), "\(listed)")
    let line = listed.split(whereSeparator: \.isNewline).first { $0.contains("in use now") }
    #expect(line?.contains("recovery key") == true && !listed.contains(key))
  }

  /// Such a passphrase could be made once.
  @Test func `a recovery key that is typed is tried as a passphrase, too, before anybody is asked again`() async throws
  {
    let program = try Program()
    let key = RecoveryKey.text(of: [UInt8](repeating: 1, count: 32))
    let store = try FolderStore(path: program.file("target"), create: true)
    _ = try await RepositoryFiles.create(at: store, with: .passphrase(Array(key.utf8)), cost: .least, now: 1)
    let target = "file://\(program.file("target"))"
    let listed = try await play(program, "\(key)\\n", "--target", target, "key", "list")
    #expect(listed.contains("asked 1 status 0") && !listed.contains(key), "\(listed)")
    let slip = "B\(key.dropFirst())"
    let again = try await play(program, "\(slip)\\n|\(key)\\n", "--target", target, "key", "list")
    #expect(again.contains("asked 2 status 0"), "\(again)")
    #expect(
      again.contains("that does not open it (if it is a recovery key, it is mistyped); passphrase or"), "\(again)")
  }

  @Test func `a mistyped, an empty and an interrupted passphrase change nothing`() async throws {
    let program = try Program()
    let target = "file://\(program.file("target"))"
    for (answers, status, message) in [
      (#"open sesame\n|open sesam\n"#, 2, "the two passphrases differ"), (#"\n"#, 2, "no passphrase was given"),
      (#"\x04"#, 2, "no passphrase was given"), (#"open\x03"#, 130, "interrupted"),
    ] {
      let screen = try await play(program, answers, "--target", target, "init")
      #expect(screen.contains("status \(status)"), "\(screen)")
      #expect(screen.contains(message))
    }
    #expect(program.files(below: "target").isEmpty)
  }

  /// A database, and two targets opened by a passphrase that no file has.
  private func programOfTwo() async throws -> Program {
    let home = try Home()
    let file = home.program.file
    try home.program.write("open sesame\n", to: "passphrase")
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(file("state"))",
       "targets": {"a": {"url": "file://\(file("a"))"}, "b": {"url": "file://\(file("b"))"}},
       "databases": {"app": {"path": "\(file("app.db"))"}}}
      """, to: "config.json")
    try await home.must("--passphrase-file", file("passphrase"), "init")
    var program = home.program
    program.environment["TERM"] = "xterm"
    return program
  }

  @Test func `a push asks for all that it needs before it copies, thrice where that opens nothing`() async throws {
    let program = try await programOfTwo()
    let config = ["--config", program.file("config.json")]
    let wrong = try await play(program, #"a\n|b\n|c\n"#, config[0], config[1], "--target", "a", "push")
    #expect(wrong.contains("asked 3 status 12") && !program.exists("state/spool"), "\(wrong)")
    let answers = #"a\n|open sesame\n|open sesame\n"#
    let screen = try await play(program, answers, config[0], config[1], "push")
    #expect(screen.contains("asked 3 status 0"), "\(screen)")
    #expect(screen.contains("that does not open it; passphrase or recovery key for a: "), "\(screen)")
    let question = try #require(screen.firstRange(of: "passphrase or recovery key for b: "), "\(screen)")
    let copying = try #require(screen.firstRange(of: "app: copying"), "\(screen)")
    #expect(question.upperBound <= copying.lowerBound, "\(screen)")
  }

  @Test func `a question does not stand behind a progress bar`() async throws {
    let program = try await programOfTwo()
    let file = program.file
    try SQLite.run("CREATE TABLE t(a)", on: file("web.db"))
    // The first push ends with a wrong key, which is told last.
    try program.write(
      """
      {"host": "web-1", "stateFolder": "\(file("state"))",
       "targets": {"a": {"url": "file://\(file("a"))", "keyFile": "\(file("key"))"},
                   "b": {"url": "file://\(file("b"))"}},
       "databases": {"app": {"path": "\(file("app.db"))", "targets": ["a"]},
                     "web": {"path": "\(file("web.db"))", "targets": ["b"]}}}
      """, to: "config.json")
    let screen = try await play(program, #"open sesame\n"#, "--config", file("config.json"), "push")
    #expect(screen.contains("asked 1 status 3") && screen.contains("app: copying"), "\(screen)")
    #expect(screen.contains("\r\u{1B}[Ksealift: passphrase or recovery key for b: "), "\(screen)")
  }

  @Test func `colours and a progress bar on a terminal`() async throws {
    let home = try Home()
    try await home.must("init")
    let configuration = ["--config", home.program.file("config.json")]
    // A whole id: a version's may begin with less of it.
    let unknown = configuration + ["show", String(repeating: "beef", count: 16)]
    var program = home.program
    program.environment["TERM"] = "xterm"
    let pushed = try await screen(program, configuration + ["push"])
    #expect(pushed.contains("app: sealing") && pushed.contains("\r"), "\(pushed)")
    #expect(!(try await screen(program, configuration + ["push", "--note", "x", "--no-progress"])).contains("\u{1B}"))
    #expect(!(try await screen(program, configuration + ["push", "--note", "y", "-q"])).contains("\u{1B}"))
    #expect(try await screen(program, unknown, status: 14).contains("\u{1B}[1;31merror:\u{1B}[0m"))
    program.environment["NO_COLOR"] = "1"
    #expect(!(try await screen(program, unknown, status: 14)).contains("\u{1B}"))
    program.environment["NO_COLOR"] = ""
    program.environment["TERM"] = "dumb"
    #expect(!(try await screen(program, unknown, status: 14)).contains("\u{1B}"))
  }

  private func screen(_ program: Program, _ arguments: [String], status: Int = 0) async throws -> String {
    let screen = try await PlayedTerminal().screen(of: program, arguments)
    #expect(screen.hasSuffix("asked 0 status \(status)\n"), "\(screen)")
    return screen
  }

  @Test func `no colours and no bar elsewhere`() async throws {
    let home = try Home()
    var program = home.program
    program.environment["TERM"] = "xterm"
    for arguments in [["init"], ["push"], ["list"], ["show", "beef"], ["--help"]] {
      let ending = try await program.start(Program.path, ["--config", program.file("config.json")] + arguments)
      #expect(!(ending.output + ending.error).contains("\u{1B}"))
      #expect(!(ending.output + ending.error).contains("\r"))
    }
  }

  @Test func `where a pipe does not wait, all comes to somebody who reads slowly`() async throws {
    let ends = try #require(PrivatePipe.make())
    defer { close(ends.read) }
    #expect(fcntl(ends.write, F_SETFL, O_NONBLOCK) == 0)
    let arrived = Locked<[UInt8]?>(nil)
    let reading = startThread {
      let all = Self.slowly(read: ends.read)
      arrived.withLock { $0 = all }
    }
    try #require(reading == 0)
    let text = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let isWritten = Terminal.write(text, to: ends.write)
    close(ends.write)
    #expect(isWritten)
    #expect(try await eventually { arrived.withLock { $0 != nil } })
    #expect(arrived.withLock { $0 == text })
  }

  /// All that comes, 64 KiB at a time, with a rest before each.
  private static func slowly(read descriptor: Int32) -> [UInt8] {
    var all: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      usleep(2000)
      let count = read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return all }
      all += part[..<count]
    }
  }

  @Test func `a progress bar does not wait for a pipe that is full`() throws {
    let ends = try #require(PrivatePipe.make())
    defer { for end in [ends.read, ends.write] { close(end) } }
    #expect(fcntl(ends.write, F_SETFL, O_NONBLOCK) == 0)
    #expect(!Terminal.write([UInt8](repeating: 7, count: 1 << 21), to: ends.write, waits: false))
  }

  @Test func `a database is not written to a terminal`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    let screen = try await screen(
      home.program, ["--config", home.program.file("config.json"), "pull", "latest", "-o", "-"], status: 2)
    #expect(screen.contains("a database is not written to a terminal"))
  }
}
