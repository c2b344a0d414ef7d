import Glibc
import Operations
import TestKit
import Testing

@testable import SealiftTool

/// Secrets come from files, commands, descriptors and the terminal; what others can see is refused.
@Suite struct SecretTests {
  static let passphrase = "correct horse / battery? \"staple\""

  /// A repository opened by the passphrase, without any secret in the configuration.
  private func program() async throws -> Program {
    let program = try Program()
    try program.write(Self.passphrase + "\n", to: "passphrase")
    let ending = try await program(
      "--target", program.file("target"), "init", "--passphrase-file", program.file("passphrase"))
    #expect(ending.status == 0, "\(ending.error)")
    return program
  }

  /// libcurl quotes a proxy that it cannot make sense of, as it stands in the variable.
  @Test(arguments: [
    "http://ali:open/sesame@127.0.0.1:9", "htp://ali:open-sesame@127.0.0.1:9", "http://ali:open#sesame@127.0.0.1:9",
    "http://ali:open-sesame@127.0.0.1:99999",
  ])
  func `a proxy that cannot be used is told without its password`(_ proxy: String) async throws {
    var program = try Program()
    try program.write(Self.passphrase + "\n", to: "passphrase")
    program.environment["http_proxy"] = proxy
    let ending = try await program(
      "--target", "webdav://sealift.invalid/x", "--passphrase-file", "passphrase", "-v", "list")
    #expect(ending.status == 1 && ending.error.contains("http_proxy"), "\(ending.error)")
    #expect(!ending.error.contains("sesame") && !ending.output.contains("sesame"))
  }

  /// A first signal ends the wait for somebody who never writes.
  @Test func `a secret in a pipe is waited for, and the wait can be ended`() async throws {
    let program = try await program()
    try #require(mkfifo(program.file("pipe"), 0o600) == 0)
    let words = ["--target", program.file("target"), "--passphrase-file", program.file("pipe"), "list"]
    let child = try Child(
      ["env", "HOME=\(program.file("home"))", "timeout", "-k", "5", "60", Program.path] + words,
      output: program.file("output"))
    // A pipe takes one who writes as soon as somebody has it open to read: the program, which has its handlers by then.
    var writer: Int32 = -1
    let isAwaited = try await eventually {
      writer = open(program.file("pipe"), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    try #require(isAwaited)
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    // What is written now ends where the last one who writes goes.
    close(writer)
    let written = try await program.shell(
      #"(sleep 0.3; cat passphrase > pipe) & "$0" --target "$PWD/target" --passphrase-file pipe list"#)
    #expect(written.status == 0, "\(written.error)")
  }

  /// Deriving the key takes 128 MiB; what comes after it may last for hours.
  @Test func `the memory that a passphrase takes is given back before the work begins`() async throws {
    let program = try await program()
    try SQLite.run("CREATE TABLE t(b); INSERT INTO t VALUES (randomblob(1000000))", on: program.file("app.db"))
    // It is looked at in the middle: the pull waits for a reader of all that no pipe takes.
    let told = try await program.shell(
      #"""
      "$0" --target "$PWD/target" --passphrase-file passphrase push "$PWD/app.db" >&2 && mkfifo out || exit 1
      "$0" --target "$PWD/target" --passphrase-file passphrase pull latest -o - > out &
      exec 3< out
      head -c 1 <&3 > /dev/null
      grep -E 'VmHWM|RssAnon' /proc/$!/status
      cat <&3 > /dev/null
      wait $!
      """#)
    #expect(told.status == 0, "\(told.error)")
    func mebibytes(_ field: String) throws -> Int {
      let line = try #require(told.output.split(separator: "\n").first { $0.hasPrefix(field) }, "\(told.output)")
      return try #require(Int(line.filter(\.isNumber))) >> 10
    }
    #expect(try mebibytes("VmHWM:") >= 128)
    #expect(try mebibytes("RssAnon:") <= 48)
  }

  /// Other secrets come from commands that run before it is read, and what those start may live on.
  @Test(arguments: [0, 3]) func `a passphrase's descriptor is nobody else's`(_ number: Int) async throws {
    let program = try await program()
    let command = "ls -l /proc/self/fd > \(program.file("seen")); cat > \(program.file("taken")); echo x"
    try program.write(
      #"""
      {"targets": {"t": {"url": "webdav://127.0.0.1:9/x", "user": "u", "passwordCommand": "\#(command)",
                         "allowPlainPassword": true}}, "patience": "1s"}
      """#, to: "config.json")
    _ = try await program.shell(
      #"timeout 60 "$0" --config config.json --passphrase-fd \#(number) list \#(number)<passphrase"#)
    let seen = String(decoding: try fileBytes(program.file("seen")), as: UTF8.self)
    #expect(seen.contains("->") && !seen.contains("passphrase"), "\(seen)")
    #expect(try number != 0 || fileBytes(program.file("taken")).isEmpty)
  }

  @Test func `a passphrase comes from each of its sources`() async throws {
    var program = try await program()
    let target = program.file("target")
    #expect(try await program("--target", target, "--passphrase-file", "passphrase", "list").status == 0)
    #expect(try await program.shell(#""$0" --target "$PWD/target" --passphrase-fd 3 list 3<passphrase"#).status == 0)
    #expect(
      try await program.shell(#"printf '%s' "$(cat passphrase)" | "$0" --target "$PWD/target" --passphrase-fd 0 list"#)
        .status == 0)
    for source in [
      #""passphraseFile": "\#(program.file("passphrase"))""#,
      #""passphraseCommand": "cat \#(program.file("passphrase"))""#,
    ] {
      try program.write(#"{"targets": {"t": {"url": "\#(target)", \#(source)}}}"#, to: "config.json")
      let ending = try await program("--config", "config.json", "list")
      #expect(ending.status == 0, "\(source): \(ending.error)")
    }
    program.environment["SEALIFT_PASSPHRASE_FILE"] = program.file("passphrase")
    #expect(try await program("--target", target, "list").status == 0)
    // The command line goes before the environment, and the environment before the configuration.
    try program.write("something else\n", to: "other")
    #expect(try await program("--target", target, "list", "--passphrase-file", "other").status == 12)
    program.environment["SEALIFT_PASSPHRASE_FILE"] = program.file("other")
    #expect(try await program("--config", "config.json", "list").status == 12)
  }

  @Test func `exactly one newline at the end is dropped`() throws {
    let program = try Program()
    for (text, secret) in [("a\n", "a"), ("a\n\n", "a\n"), ("a", "a"), (" a \n", " a "), ("a\r\n", "a\r")] {
      try program.write(text, to: "secret")
      #expect(try SecretSource.file(program.file("secret")).text() == Array(secret.utf8))
      guard case .keyFile(let bytes) = try SecretSource.keyFile(program.file("secret")).unlockSecret() else {
        Issue.record("no key file")
        return
      }
      #expect(bytes == Array(text.utf8))
    }
  }

  @Test(arguments: [0o640, 0o604, 0o660, 0o644, 0o620, 0o601, 0o777] as [mode_t])
  func `a file that others can read or change is refused`(mode: mode_t) async throws {
    let program = try Program()
    try program.write("secret", to: "open", mode: mode)
    for option in ["--passphrase-file", "--key-file", "--recovery-key-file"] {
      let ending = try await program("--target", program.file("target"), "--json", "init", option, "open")
      #expect(ending.status == 2)
      let error = try ending.errorDocument()
      #expect(error.code == "secretExposed")
      #expect(error.hint?.contains("chmod 600 open") == true)
      #expect(error.hint?.contains(#""passphraseCommand": "cat open""#) == true)
    }
  }

  @Test(arguments: ["a b", "it's", #"say "x""#, #"back\slash"#, "$HOME"])
  func `the way out of an open file does what it says as it stands, whatever the file is called`(
    name: String
  ) async throws {
    let program = try Program()
    try program.write("open sesame", to: name, mode: 0o644)
    let path = program.file(name)
    let ending = try await program("--target", program.file("target"), "--json", "init", "--passphrase-file", path)
    let hint = try #require(ending.errorDocument().hint)
    let setting = try #require(hint.firstRange(of: #""passphraseCommand""#), "\(hint)")
    let settings = try decoded([String: String].self, "{\(hint[setting.lowerBound...].dropLast())}")
    let command = try #require(settings["passphraseCommand"])
    #expect(try await Child.run(["/bin/sh", "-c", command]).output == "open sesame")
    let closing = try #require(hint.split(separator: "`").dropFirst().first, "\(hint)")
    #expect(try await Child.run(["/bin/sh", "-c", String(closing)]).isSuccess)
    var status = stat()
    let answer = stat(path, &status)
    #expect(answer == 0 && status.st_mode & 0o777 == 0o600, "\(closing)")
  }

  @Test func `empty and missing secrets are refused`() async throws {
    let program = try Program()
    try program.write("", to: "empty")
    try program.write("\n", to: "newline")
    for (option, code) in [
      ("empty", "secretEmpty"), ("newline", "secretEmpty"), ("missing", "secretUnreadable"), (".", "secretUnreadable"),
    ] {
      let ending = try await program("--target", program.file("target"), "--json", "init", "--passphrase-file", option)
      #expect(ending.status == 2)
      #expect(try ending.errorDocument().code == code)
    }
    #expect(
      try await program.shell(#""$0" --target "$PWD/target" --json init --passphrase-fd 3 3</dev/null"#).errorDocument()
        .code == "secretEmpty")
    #expect(
      try await program.shell(#""$0" --target "$PWD/target" --json init --passphrase-fd 9"#).errorDocument().code
        == "secretUnreadable")
    #expect(!program.exists("target/repo"))
  }

  /// Without a redirection in the shell these are numbers of our own descriptors, which nobody writes to.
  @Test(arguments: [3, 4]) func `a descriptor that was not given is refused`(_ number: Int) async throws {
    let program = try Program()
    let ending = try await program.shell(
      #"timeout 60 "$0" --target "$PWD/target" --json init --passphrase-fd \#(number) 3<&- 4<&-"#)
    #expect(ending.status == 2, "\(ending.error)")
    let error = try ending.errorDocument()
    #expect(error.code == "secretUnreadable" && error.message.contains("descriptor \(number)"))
    #expect(!program.exists("target/repo"))
  }

  /// systemd's own copies have mode 0440 and an access list, in a folder for one service.
  @Test func `a credential of a service may look as if a group could read it`() async throws {
    var program = try await program()
    #expect(mkdir(program.file("credentials"), 0o700) == 0)
    try program.write(Self.passphrase + "\n", to: "credentials/passphrase", mode: 0o440)
    try program.write(Self.passphrase + "\n", to: "elsewhere", mode: 0o440)
    #expect(symlink(program.file("elsewhere"), program.file("credentials/link")) == 0)
    #expect(symlink(program.file("credentials"), program.file("linked")) == 0)
    func status(_ name: String) async throws -> Int32 {
      try await program("--target", program.file("target"), "list", "--passphrase-file", program.file(name)).status
    }
    #expect(try await status("credentials/passphrase") == 2)
    for folder in ["credentials", "linked", "credentials/"] {
      program.environment["CREDENTIALS_DIRECTORY"] = program.file(folder)
      #expect(try await status("credentials/passphrase") == 0)
      #expect(try await status("linked/passphrase") == 0)
      #expect(try await status("credentials/link") == 2)
      #expect(try await status("elsewhere") == 2)
    }
    for mode in [0o444, 0o460, 0o450, 0o442] as [mode_t] {
      #expect(chmod(program.file("credentials/passphrase"), mode) == 0)
      #expect(try await status("credentials/passphrase") == 2)
    }
  }

  /// Some supervisors ignore it, and so would whatever they start.
  @Test func `a command prints its secret also where the ends of children are ignored`() async throws {
    let program = try await program()
    try program.write(
      #"{"targets": {"t": {"url": "\#(program.file("target"))", "passphraseCommand": "cat \#(program.file("passphrase"))"}}}"#,
      to: "config.json")
    let start = """
      import os, signal, sys
      signal.signal(signal.SIGCHLD, signal.SIG_IGN)
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let ending = try await program.start(
      "python3", ["-c", start, Program.path, "--config", program.file("config.json"), "list"])
    #expect(ending.status == 0, "\(ending.error)")
  }

  @Test func `a command that fails, says nothing or too much gives no secret`() throws {
    #expect(try SecretSource.command("printf 'a\\nb\\n'").text() == Array("a\nb".utf8))
    for (line, message) in [
      ("echo hunter2; exit 3", "ended with status 3"), ("true", "is empty"), ("kill -9 $$", "ended with status 137"),
      ("/nonexistent/command hunter2 2>/dev/null", "ended with status 127"), ("yes hunter2", "longer than"),
    ] {
      let error = #expect(throws: (any Error).self) { try SecretSource.command(line).text() }
      #expect("\(error.map { "\($0)" } ?? "")".contains(message))
      #expect(!"\(error.map { "\($0)" } ?? "")".contains("hunter2"))
    }
  }

  @Test(arguments: [
    ("true", "what 'targets.cmd.passphraseCommand' prints is empty"),
    ("false", "'targets.cmd.passphraseCommand' ended with status 1"),
  ])
  func `a command that gives no secret is told by its key`(_ command: String, _ message: String) async throws {
    let program = try await program()
    try program.write(
      #"{"targets": {"cmd": {"url": "\#(program.file("target"))", "passphraseCommand": "\#(command)"}}}"#,
      to: "config.json")
    let ending = try await program("--config", "config.json", "list")
    #expect(ending.status == 2 && ending.error.contains(message), "\(ending.error)")
  }

  @Test func `a command that two keys have is one`() {
    let one = SecretSource.command("pass show a", of: .init(text: "targets.a.passphraseCommand"))
    let other = SecretSource.command("pass show a", of: .init(text: "targets.b.passphraseCommand"))
    #expect(one == other && Set([one, other]).count == 1)
    #expect(one != .command("pass show b", of: .init(text: "targets.a.passphraseCommand")))
  }

  /// Six databases, and a server that takes no login. What it is asked about itself, the first of them asks, in four requests
  /// at once at most.
  @Test func `a command that prints a password runs once for all databases of a run`() async throws {
    let home = try Home()
    let file = home.program.file
    let databases = (1...6).map { #""d\#($0)": {"path": "\#(file("d\($0).db"))"}"# }
    for number in 1...6 { try SQLite.run("CREATE TABLE t(a)", on: file("d\(number).db")) }
    try home.program.write(
      #"""
      {"host": "web-1", "stateFolder": "\#(file("state"))",
       "targets": {"t": {"url": "webdav://127.0.0.1:PORT/x", "user": "u", "keyFile": "\#(file("key"))",
                         "passwordCommand": "echo x >> \#(file("count")); echo secret"}},
       "databases": {\#(databases.joined(separator: ", "))}}
      """#, to: "config.json")
    let start = """
      import http.server, subprocess, sys, threading
      asked = []
      class Refusing(http.server.BaseHTTPRequestHandler):
          def answer(self):
              self.rfile.read(int(self.headers.get("Content-Length") or 0))
              asked.append(self.command)
              self.send_response(200 if self.command == "OPTIONS" else 403)
              self.send_header("Content-Length", "0")
              self.end_headers()
          def log_message(self, *words):
              pass
          do_OPTIONS = do_PROPFIND = do_GET = do_HEAD = answer
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
      threading.Thread(target=server.serve_forever, daemon=True).start()
      with open("config.json") as file: text = file.read()
      with open("config.json", "w") as file: file.write(text.replace("PORT", str(server.server_port)))
      status = subprocess.call([sys.argv[1], "--config", "config.json", "push"])
      print(asked.count("OPTIONS"), len(asked))
      sys.exit(status)
      """
    let ending = try await home.program.start("python3", ["-c", start, Program.path])
    #expect(ending.status == 1, "\(ending.error)")
    #expect(String(decoding: try fileBytes(file("count")), as: UTF8.self) == "x\n")
    let counts = ending.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(counts.count == 2, "\(ending.output)")
    #expect((1...5).contains(counts[0]) && counts[1] >= counts[0] + 6, "\(ending.output)")
  }

  @Test(arguments: [
    #""url": "webdav://127.0.0.1:9/x", "user": "u", "passwordCommand""#,
    #""url": "s3://bucket?endpoint=http://127.0.0.1:9", "accessKeyId": "A", "secretKeyCommand""#,
  ])
  func `a push runs the command of a server when it needs the server, and tells when it fails`(
    _ target: String
  ) async throws {
    let home = try Home()
    func push(_ database: String) async throws -> ProgramEnd {
      try home.program.write(
        #"""
        {"host": "web-1", "stateFolder": "\#(home.program.file("state"))",
         "targets": {"t": {"keyFile": "\#(home.program.file("key"))",
                           \#(target): "echo x >> \#(home.program.file("count")); exit 3"}},
         "databases": {"app": {"path": "\#(home.program.file(database))"}}}
        """#, to: "config.json")
      return try await home("--json", "push")
    }
    let unread = try await push("gone.db")
    #expect(unread.status == 15, "\(unread.error)")
    #expect(!home.program.exists("count"))
    let failed = try await push("app.db")
    #expect(failed.status == 2, "\(failed.error)")
    let error = try failed.errorDocument()
    #expect(error.code == "secretCommandFailed" && error.message.contains("pushing 'app' to t"), "\(error)")
    #expect(String(decoding: try home.bytes("count"), as: UTF8.self) == "x\n")
    #expect(!home.program.exists("state/spool"), "no copy is made for it")
  }

  @Test func `a push runs the command of a repository before it makes a copy`() async throws {
    let home = try Home()
    try await home.must("init")
    func push(_ database: String) async throws -> ProgramEnd {
      try home.program.write(
        #"""
        {"host": "web-1", "stateFolder": "\#(home.program.file("state"))",
         "targets": {"t": {"url": "\#(home.target)",
                           "passphraseCommand": "echo x >> \#(home.program.file("count")); exit 3"}},
         "databases": {"app": {"path": "\#(home.program.file(database))"}}}
        """#, to: "config.json")
      return try await home("--json", "push")
    }
    let unread = try await push("gone.db")
    #expect(unread.status == 15 && !home.program.exists("count"), "\(unread.error)")
    let failed = try await push("app.db")
    let error = try failed.errorDocument()
    #expect(failed.status == 2 && error.code == "secretCommandFailed", "\(failed.error)")
    #expect(error.message.contains("pushing 'app' to t"), "\(error)")
    #expect(String(decoding: try home.bytes("count"), as: UTF8.self) == "x\n")
    #expect(!home.program.exists("state/spool"), "no copy is made for it")
  }

  @Test func `what a server asks for is read once, and again when it failed or was renewed`() throws {
    let program = try Program()
    let secrets = StoreSecrets()
    let source = SecretSource.command(
      "echo x >> '\(program.file("count"))'; cat '\(program.file("secret"))' 2>/dev/null")
    #expect(throws: OperationError.self) { try secrets.text(of: source) }
    for text in ["one\n", "two\n"] {
      try program.write(text, to: "secret")
      #expect(try secrets.text(of: source) == "one")
    }
    #expect(try secrets.newText(of: source) == "two")
    #expect(try secrets.text(of: source) == "two")
    #expect(String(decoding: try fileBytes(program.file("count")), as: UTF8.self) == "x\nx\nx\n")
  }

  @Test func `without a terminal and a source, all sources are named`() async throws {
    let program = try Program()
    let ending = try await program.shell(#"setsid -w "$0" --target "$PWD/target" --json init </dev/null"#)
    #expect(ending.status == 2)
    let error = try ending.errorDocument()
    #expect(error.code == "secretMissing")
    for source in [
      "passphraseFile", "passphraseCommand", "keyFile", "SEALIFT_PASSPHRASE_FILE", "--passphrase-fd",
      "--passphrase-file",
      "--key-file", "--recovery-key-file",
    ] { #expect(error.hint?.contains(source) == true) }
  }

  /// The key that opens the repository is there.
  @Test func `without a terminal a key that is to be added is asked for by its own options`() async throws {
    let program = try await program()
    let ending = try await program.shell(
      #"setsid -w "$0" --target "$PWD/target" --json --passphrase-file passphrase key add </dev/null"#)
    let error = try ending.errorDocument()
    #expect(ending.status == 2 && error.code == "secretMissing" && error.message.hasPrefix("the new passphrase"))
    #expect(error.hint?.contains("--new-passphrase-file or --new-key-file") == true)
  }

  @Test func `no secret is shown by config check, -v or descriptions`() async throws {
    let program = try await program()
    try program.write(
      #"{"targets": {"t": {"url": "\#(program.file("target"))", "passphraseCommand": "echo hunter2 >/dev/null; cat \#(program.file("passphrase"))"}}}"#,
      to: "config.json")
    for arguments in [["config", "check"], ["config", "check", "--json"], ["-v", "list"]] {
      let ending = try await program.start(Program.path, ["--config", "config.json"] + arguments)
      #expect(ending.status == 0, "\(ending.error)")
      #expect(!(ending.output + ending.error).contains("hunter2"))
      #expect(!(ending.output + ending.error).contains("staple"))
    }
    let verbose = try await program("-v", "--config", "config.json", "list")
    #expect(verbose.error.contains("sealift: debug: configuration: config.json"))
    #expect("\(SecretSource.command("hunter2").place)" == "the command")
  }

  @Test func `a password in a target's URL is refused and not repeated`() async throws {
    let ending = try await Program()("--target", "webdavs://alice:hunter2@host/folder", "list")
    #expect(ending.status == 2)
    #expect(!ending.error.contains("hunter2"))
  }

  @Test func `the process cannot be dumped, and what it makes is private`() async throws {
    let home = try Home()
    try await home.must("init")
    for path in ["target", "state"] { #expect(mode(of: home.program.file(path)) & 0o077 == 0) }
    for file in home.program.files(below: "state") {
      #expect(mode(of: home.program.file("state/\(file)")) & 0o077 == 0)
    }
    try home.program.write(
      #"{"targets":{"t":{"url":"\#(home.target)","passphraseCommand":"grep 'core file' /proc/$PPID/limits >&2; stat -c 'owner %u' /proc/$PPID/environ >&2"}}}"#,
      to: "look.json")
    // What the kernel shows of a process is root's own when the process cannot be dumped; of root's it always is.
    var prefix = ""
    if geteuid() == 0 {
      let given = try await Child.run(["chown", "-R", "65534:65534", home.program.scratch.path])
      try #require(given.isSuccess, "\(given.error)")
      prefix = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    }
    // By a descriptor: another user need not get into the folder where the program lies.
    let ending = try await home.program.shell(#"exec \#(prefix) /proc/self/fd/9 --config look.json list 9<"$0""#)
    #expect(ending.error.contains(#/Max core file size\s+0\s+0/#), "\(ending.error)")
    #expect(ending.error.split(separator: "\n").contains("owner 0"), "\(ending.error)")
  }

  /// Nothing but SIGKILL would end it otherwise, nor what it starts.
  @Test func `a command that prints a secret has no signal blocked or ignored`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write(
      #"{"targets":{"t":{"url":"\#(home.target)","passphraseCommand":"grep -E 'Sig(Blk|Ign)' /proc/self/status >&2; cat \#(home.program.file("key"))"}}}"#,
      to: "look.json")
    let ending = try await home.program("--config", "look.json", "list")
    for kind in ["SigBlk", "SigIgn"] {
      let line = try #require(ending.error.split(separator: "\n").first { $0.hasPrefix(kind) })
      let signals = try #require(UInt64(line.split(separator: "\t").last ?? "", radix: 16))
      // Above the first 31 are two of glibc's own, which it ignores in every child.
      #expect(signals & 0x7FFF_FFFF == 0, "\(line)")
    }
  }
}
