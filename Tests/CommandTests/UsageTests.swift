import FoundationEssentials
import TestKit
import Testing

@testable import SealiftTool

@Suite struct UsageTests {
  @Test(arguments: [
    [], ["nonsense"], ["push", "--frobnicate"], ["list", "--target"], ["pull", "latest"], ["key"], ["config"],
    ["-q", "-v", "list"], ["push", "--method", "magic", "./a.db"], ["push", "--name", "x"],
    ["push", "--method", "file", "--allow-recovery", "./a.db", "--target", "/tmp"],
    ["push", "--name", "a/b", "./a.db", "--target", "/tmp"], ["push", "--name", "a\nb", "./a.db", "--target", "/tmp"],
    ["restore", "latest", "--to", "-", "--target", "/tmp"],
    ["push", "--tag", "", "./a.db"],
    ["list", "--passphrase-fd", "three"], ["list", "--key-file", "a", "--passphrase-file", "b"],
    ["key", "add", "--new-key-file", "a", "--new-passphrase-file", "b"], ["show", "xyz"], ["show", "app@yesterday"],
    ["push", "./a.db"], ["list", "--target", "nowhere"], ["list", "--limit-upload", "fast", "--target", "/tmp"],
    ["push", "app", "--target", "/tmp"], ["list", "--config", "/nonexistent/config.json"],
    ["forget", "--target", "/tmp"], ["forget", "app", "--target", "/tmp"], ["forget", "--keep-last", "0"],
    ["forget", "--keep-within", "48"], ["forget", "app", "--keep-within", "6m"], ["prune", "--forgotten-for", "1m"],
    ["forget", "--keep-tag", "", "--target", "/tmp"], ["unforget"], ["pin"],
    ["tag", "latest", "--target", "/tmp"], ["note", "latest"], ["status", "./app.db", "--target", "/tmp"],
    ["unforget", "app:latest", "--target", "/tmp"], ["tag", "latest", "--add", "", "--target", "/tmp"],
    ["drill", "app", "--versions", "latest"], ["drill", "--query-timeout", "soon"], ["copy", "--from", "/tmp"],
    ["drill", "--query-timeout", "0s"],
    ["copy", "--from", "/tmp", "--to", "/tmp", "--latest", "--versions", "latest"],
    ["copy", "--from", "/tmp", "--to", "/tmp", "app", "--versions", "latest"],
    ["push", "--dry-run", "--allow-recovery"],
    ["list", "--tag", "a", "--tag", "b", "--target", "/tmp"], ["--config", "a", "list", "--config=b"],
    ["copy", "--from", "/tmp", "--to", "/tmp/a", "--to", "/tmp/b"],
    ["pull", "latest", "-o", "", "-n", "--target", "/tmp"], ["restore", "latest", "--to", "", "--target", "/tmp"],
    ["restore", "latest", "--table", "t", "--into", "", "--target", "/tmp"],
    ["pull", "latest", "-o", "a", "--output", "b", "--target", "/tmp"],
  ])
  func `a mistake on the command line ends with 2 and says what to do`(arguments: [String]) async throws {
    let program = try Program()
    let ending = try await program.start(Program.path, arguments)
    #expect(ending.status == 2)
    #expect(ending.output.isEmpty)
    #expect(ending.error.hasPrefix("sealift: error: "))
    #expect(ending.error.contains("\nsealift: hint: "))
    for line in ending.error.split(separator: "\n") where line.hasPrefix("sealift: error: ") {
      #expect(!line.hasSuffix("."))
      #expect(line.dropFirst("sealift: error: ".count).first?.isUppercase != true)
    }
  }

  /// A script whose variable is unset must not rehearse well.
  @Test(arguments: [
    (["pull", "latest", "-o", "", "-n"], "name the file to write with -o FILE"),
    (["restore", "latest", "--to", "", "-n"], "--to and --into name a file"),
    (["restore", "latest", "--table", "t", "--into", "", "-n"], "--to and --into name a file"),
  ])
  func `an empty name of a file is refused for itself`(arguments: [String], message: String) async throws {
    let ending = try await Program().start(Program.path, arguments)
    #expect(ending.status == 2)
    #expect(ending.error.hasPrefix("sealift: error: \(message)\n"))
  }

  @Test(arguments: [
    ["--json", "nonsense"], ["push", "--frobnicate", "--json"], ["--json"], ["--json", "show", "xyz"],
  ])
  func `with --json a mistake is a document too`(arguments: [String]) async throws {
    let ending = try await Program().start(Program.path, arguments)
    #expect(ending.status == 2)
    #expect(ending.output.isEmpty)
    #expect(ending.error.split(separator: "\n").count == 1)
    let error = try ending.errorDocument()
    #expect(!error.code.isEmpty && !error.message.isEmpty && error.hint != nil)
  }

  /// ArgumentParser would take the last value, and say nothing of the first.
  @Test func `no option of one value is given twice`() throws {
    let commands: [any SealiftCommand.Type] = [
      Init.self, PushCommand.self, Copy.self, List.self, Show.self, Status.self, PullCommand.self, RestoreCommand.self,
      Check.self, DrillCommand.self, Repair.self, Doctor.self, SealiftTool.Tag.self, Note.self, Pin.self, Unpin.self,
      Forget.self, Unforget.self, PruneCommand.self, KeyList.self, KeyAdd.self, KeyRemove.self, KeyRecovery.self,
      ConfigCheck.self,
    ]
    var refused: Set<String> = []
    for command in commands {
      for option in RepeatedOption.singleValued(of: command) {
        // Those of every command are tried once.
        let long = try #require(option.first { $0.hasPrefix("--") })
        guard refused.insert(long).inserted else { continue }
        for name in option {
          let error = #expect(throws: (any Error).self) {
            try RepeatedOption.refuse([name, "a", "\(long)=b"], of: command)
          }
          try RepeatedOption.refuse([name, "a", "\(long)=a"], of: command)
          #expect(error.map { "\($0)".contains("\(long) is given more than once") } == true)
        }
        try RepeatedOption.refuse([long, "a", "--", "\(long)=b"], of: command)
        #expect(RepeatedOption.flags.isDisjoint(with: option))
      }
      try RepeatedOption.refuse(["--target", "a", "--target=b", "-q", "-q", "--json", "--json"], of: command)
    }
    let declared = try Self.declared()
    #expect(refused == declared)
  }

  /// It describes itself for that, which takes longer than most of a start.
  @Test(arguments: [
    (["-q", "push"], 0), (["-nq", "push", "app", "--tag", "a", "-q"], 0), (["--tag", "a", "--name=a", "push"], 0),
    (["push", "--tag", "a", "--tag", "b"], 1), (["-o", "a", "--output", "b"], 1),
    (["pull", "app:latest", "-o", "a", "--config", "b"], 0), (["-x", "a", "--xyz", "b"], 1),
  ])
  func `a command is asked what it takes only where two options may be one`(arguments: [String], asked: Int) throws {
    var calls = 0
    try RepeatedOption.refuse(
      arguments, of: PushCommand.self,
      singleValued: { _ in
        calls += 1
        return []
      })
    #expect(calls == asked)
  }

  /// The names of the options of one value, as the sources have them.
  private static func declared() throws -> Set<String> {
    let folder = "\(SourceTree.root)/Sources/SealiftTool"
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) where path.hasSuffix(".swift") {
      let text = String(decoding: try fileBytes("\(folder)/\(path)"), as: UTF8.self)
      for option in text.matches(of: #/@Option\(((?s:.*?))\n  var (\w+)(: \[)?/#) where option.output.3 == nil {
        if let named = option.output.1.firstMatch(of: #/customLong\("([^"]+)"\)/#) {
          names.insert("--\(named.output.1)")
        } else {
          names.insert(option.output.2.reduce("--") { $0 + ($1.isUppercase ? "-\($1.lowercased())" : String($1)) })
        }
      }
    }
    return names
  }

  /// Swift would have repaired it, silently: into the name of another file.
  @Test func `an argument that is not UTF-8 is refused`() async throws {
    let program = try Program()
    for words in ["pull latest -o", "--json pull latest -o"] {
      let ending = try await program.start(
        "/bin/sh", ["-c", "exec \"$0\" \(words) \"$(printf 'a\\377.db')\"", Program.path])
      #expect(ending.status == 2)
      #expect(ending.error.contains("is not UTF-8"))
    }
  }

  @Test func `what follows two dashes is no option`() async throws {
    let ending = try await Program()("push", "--", "--json")
    #expect(ending.status == 2)
    #expect(ending.error.hasPrefix("sealift: error: '--json' is not a configured database"))
  }

  @Test func `a name that is not configured is told as what it may be`() async throws {
    let program = try Program()
    try program.write(#"{"stateFolder": "/s", "databases": {"app": {"path": "/a"}}}"#, to: "c.json")
    try program.write("no database", to: "app.d")
    func hint(_ words: String...) async throws -> String? {
      try await program.start(Program.path, ["--json", "--target", "/tmp", "push"] + words).errorDocument().hint
    }
    #expect(try await hint("foo.db") == "Nothing is configured: give its path, such as ./foo.db.")
    #expect(try await hint("app.d") == "A file in this folder is written with a slash: ./app.d")
    #expect(try await hint("--config", "c.json", "ap") == "Did you mean 'app'?")
    let both = try await hint("--config", "c.json", "app.d")
    #expect(both == "A file in this folder is written with a slash: ./app.d. Or did you mean 'app'?")
    #expect(try await hint("--config", "c.json", "other") == "A file in this folder is written with a slash: ./other")
  }

  @Test(arguments: [
    ("restore latest -o q.db", "--to"), ("pull latest --to q.db", "-o"),
    ("--target ./t1 list", "A folder is written file:///absolute/path, or /path."),
  ])
  func `what is written elsewhere, or in another way, is told how it is written`(
    _ line: String, _ told: String
  ) async throws {
    let ending = try await Program().start(Program.path, line.split(separator: " ").map(String.init))
    #expect(ending.status == 2 && ending.error.contains(told), "\(ending.error)")
  }

  @Test func `a slip of the finger gets its nearest option`() async throws {
    #expect(try await Program()("push", "--notte", "x").error.contains("hint: Did you mean '--note'?"))
  }

  @Test func `a slip of the finger gets its nearest command`() async throws {
    for rest in [[], ["./app.db"]] {
      let slip = try await Program().start(Program.path, ["--target", "/tmp", "pusj"] + rest)
      #expect(slip.error == "sealift: error: 'pusj' is not a command\nsealift: hint: Did you mean 'push'?\n")
    }
    #expect(try await Program()("doctor", "me").error.hasPrefix("sealift: error: unexpected argument 'me'\n"))
    #expect(try await Program()("key", "list", "me").error.hasPrefix("sealift: error: unexpected argument 'me'\n"))
  }

  @Test(arguments: [
    ("key lsit", "'lsit' is not a command of 'key'", "list"), ("key ls", "'ls' is not a command of 'key'", "list"),
    ("config chek", "'chek' is not a command of 'config'", "check"),
    ("backup ./a.db", "'backup' is not a command", "push"), ("snapshots", "'snapshots' is not a command", "list"),
    ("help pusj", "'pusj' is not a command", "push"),
    ("help key lsit", "'lsit' is not a command of 'key'", "list"),
  ])
  func `so does one below a command, one of another program, and one that help was asked for`(
    _ line: String, _ message: String, _ nearest: String
  ) async throws {
    let slip = try await Program().start(Program.path, line.split(separator: " ").map(String.init))
    #expect(slip.status == 2 && slip.output.isEmpty)
    #expect(slip.error == "sealift: error: \(message)\nsealift: hint: Did you mean '\(nearest)'?\n")
  }

  @Test(arguments: [["help", "wrong"], ["help", "push", "wrong"], ["key", "wrong"]])
  func `a word that is no command ends with 2, after help too`(_ words: [String]) async throws {
    let ending = try await Program().start(Program.path, words)
    #expect(ending.status == 2 && ending.output.isEmpty, "\(ending.error)")
    #expect(ending.error.contains("'wrong' is not a command"), "\(ending.error)")
    #expect(ending.error.contains("\nsealift: hint: `sealift "), "\(ending.error)")
  }

  @Test(arguments: [
    ["--target", "file:///nonexistent/place", "--json", "list"],
    ["list", "--target", "file:///nonexistent/place", "--json"],
    ["--json", "list", "--target=file:///nonexistent/place"],
    ["--target=file:///nonexistent/place", "key", "--json", "list"],
    ["key", "list", "--json", "--target", "file:///nonexistent/place"],
    ["--json", "--target", "file:///nonexistent/place", "push", "./app.db"],
    ["push", "./app.db", "--target", "file:///nonexistent/place", "--json"],
  ])
  func `global options stand before and after the command`(arguments: [String]) async throws {
    let ending = try await Program().start(Program.path, arguments)
    #expect(ending.status == 10)
    let error = try ending.errorDocument()
    #expect(error.code == "noTarget")
    #expect(error.message.contains("/nonexistent/place"))
  }

  @Test func `targets add up, wherever they stand, in their order`() async throws {
    let ending = try await Program()(
      "--target", "file:///nonexistent/1", "list", "--target", "file:///nonexistent/2", "--target",
      "file:///nonexistent/3")
    let named = ending.error.split(separator: "\n").filter { $0.contains("error:") }.compactMap(\.last)
    #expect(Set(named) == ["1", "2", "3"])
    #expect(named.count == 3)
  }

  @Test func `help names every exit status, and each command has an example`() async throws {
    let help = try await Program()("--help")
    #expect(help.status == 0 && help.error.isEmpty)
    #expect(help.output.contains("--generate-completion-script bash\n"))
    for line in ExitStatus.table.split(separator: "\n") { #expect(help.output.contains(line)) }
    for status in [0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 129, 130, 143] {
      #expect(ExitStatus.table.split(separator: "\n").contains { $0.hasPrefix("  \(padded(status))  ") })
    }
    for command in [
      ["init"], ["push"], ["list"], ["show"], ["pull"], ["restore"], ["key"], ["key", "list"], ["key", "add"],
      ["key", "remove"], ["key", "recovery"], ["doctor"], ["config", "check"], ["forget"], ["unforget"], ["tag"],
      ["note"], ["pin"], ["unpin"], ["status"], ["prune"], ["check"], ["repair"], ["drill"], ["copy"],
    ] {
      let help = try await Program().start(Program.path, ["help"] + command)
      #expect(help.status == 0)
      #expect(help.output.contains("\n  sealift "), "\(command) has no example")
      #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("USAGE") })
      #expect(try await Program().start(Program.path, command + ["--help"]).output == help.output)
    }
  }

  private func padded(_ number: Int) -> String {
    String(repeating: " ", count: 3 - "\(number)".count) + "\(number)"
  }

  @Test func `README shows the same table of exit statuses`() throws {
    let readme = try String(decoding: fileBytes("\(SourceTree.root)/README.md"), as: UTF8.self)
    for status in ExitStatus.allCases {
      #expect(readme.contains("| \(status.rawValue) | \(status.meaning) |"))
    }
  }

  @Test func `the version names the libraries in use`() async throws {
    let ending = try await Program()("--version")
    #expect(ending.status == 0)
    #expect(ending.output.contains(#/^sealift \d+\.\d+\.\d+ \(SQLite 3\.\d+\.\d+, .*OpenSSL 3\./#))
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `completions are made`(shell: String) async throws {
    let ending = try await Program()("--generate-completion-script", shell)
    #expect(ending.status == 0)
    #expect(ending.output.contains("recovery-key-file"))
  }

  @Test func `a closed standard output is an error, not a death by signal`() async throws {
    let ending = try await Program().shell(#"{ "$0" config check; echo "status $?" >&2; } | true"#)
    // The reader may be slow to go: then the text fits into the pipe.
    #expect(ending.error.contains("status 1") || ending.error.contains("status 0"))
    let full = try await Program().shell(#""$0" config check > /dev/full"#)
    #expect(full.status == 1)
    #expect(full.error.contains("cannot write to standard output"))
  }

  @Test(arguments: ["help", "--help", "help push", "--version", "--generate-completion-script bash"])
  func `what help and versions cannot be written to is told`(words: String) async throws {
    let people = try await Program().shell(#""$0" \#(words) > /dev/full"#)
    #expect(people.status == 1 && people.error.hasPrefix("sealift: error: cannot write to standard output: "))
    guard !words.contains("bash") else { return }
    let script = try await Program().shell(#""$0" --json \#(words) > /dev/full"#)
    #expect(try script.status == 1 && script.errorDocument().code == "outputFailed", "\(script.error)")
  }
}
