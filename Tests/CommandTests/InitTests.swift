import FoundationEssentials
import Glibc
import TestKit
import Testing

/// What `init` makes, and that it makes nothing where it refuses.
@Suite struct InitTests {
  private func run(_ words: [String], _ home: Home, config: String = "config.json") async throws -> ProgramEnd {
    try await home.program.start(Program.path, ["--config", home.program.file(config)] + words)
  }

  @Test(arguments: [[], ["--if-missing"]] as [[String]])
  func `no folder is made in the place of a disk that is not mounted`(_ words: [String]) async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try FileManager.default.removeItem(atPath: home.program.file("target"))
    let ending = try await run(["--json", "init"] + words, home)
    #expect(ending.status == 13, "\(ending.error)")
    let error = try ending.errorDocument()
    #expect(error.code == "rolledBack" && error.hint?.contains("not mounted") == true, "\(error)")
    #expect(error.message.contains("there is no folder") && error.message.contains("has used the repository"))
    #expect(!home.program.exists("target"))
    // Nor is anybody told to make one.
    for command in ["list", "push", "status", "doctor"] {
      let ending = try await run(["--json", command], home)
      #expect(ending.status == 10, "\(command): \(ending.error)")
      let error = try ending.errorDocument()
      #expect(error.code == "noTarget" && error.message.contains("has used the repository"), "\(command): \(error)")
      #expect(error.hint?.contains("Mount the disk") == true && error.hint?.contains("init") == false)
    }
    #expect(!home.program.exists("target"))
  }

  /// There the user of a folder like `/tmp` and whoever has put something into it show one number.
  @Test(.enabled(if: geteuid() == 0))
  func `in a container with users of its own no state goes where somebody else has put a folder`() async throws {
    // Not every machine lets one be made.
    guard try await Child.run(["unshare", "-r", "true"]).isSuccess else { return }
    let home = try Home()
    let (hall, room) = (home.program.file("hall"), home.program.file("hall/room"))
    for (path, user) in [(hall, 1234), (room, 4321)] as [(String, uid_t)] {
      #expect(mkdir(path, 0o700) == 0 && chown(path, user, user) == 0 && chmod(path, 0o1777) == 0)
    }
    try home.program.write(
      """
      {"stateFolder": "\(room)/state",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(home.program.file("key"))"}}}
      """, to: "other.json")
    let words = ["--config", home.program.file("other.json"), "init"]
    let ending = try await home.program.start("unshare", ["-r", Program.path] + words)
    #expect(ending.status != 0 && ending.error.contains("another user put there"), "\(ending.error)")
    #expect(!home.program.exists("hall/room/state") && !home.program.exists("target"))
  }

  @Test func `at a fresh place the folder is made for its owner alone, once the secret is known`() async throws {
    let home = try Home()
    let target = ["--target", "file://\(home.program.file("new/deep"))"]
    try home.program.write("too short", to: "short")
    let refused = try await run(target + ["--key-file", home.program.file("short"), "init"], home)
    #expect(refused.status == 2, "\(refused.error)")
    // What it tells to do makes a file that it takes.
    #expect(refused.error.contains("`(umask 077; head -c 32 /dev/urandom > FILE)`"), "\(refused.error)")
    #expect(!home.program.exists("new"))
    let key = ["--key-file", home.program.file("key")]
    let made = try await run(target + key + ["init"], home)
    #expect(made.status == 0 && made.output.contains(": made repository "), "\(made.error)")
    for folder in ["new", "new/deep"] { #expect(mode(of: home.program.file(folder)) & 0o777 == 0o700) }
    #expect(try await run(target + key + ["list"], home).status == 0)
    let warning = "sealift: without this key file nobody can read what is pushed there; "
    #expect(made.error.contains(warning + "`sealift key recovery` prints a second key\n"), "\(made.error)")
    let again = try await run(target + key + ["init", "--if-missing"], home)
    #expect(again.status == 0 && again.output.contains(": found repository "), "\(again.error)")
    #expect(again.error.isEmpty)
    let other = ["--target", "file://\(home.program.file("other"))"]
    try home.program.write("correct horse\n", to: "passphrase")
    let typed = try await run(other + ["--passphrase-file", home.program.file("passphrase"), "init"], home)
    #expect(typed.error.contains("without this passphrase nobody"), "\(typed.error)")
    let quiet = try await run(["--target", "file://\(home.program.file("quiet"))", "-q"] + key + ["init"], home)
    #expect(quiet.status == 0 && quiet.error.isEmpty, "\(quiet.error)")
  }

  /// A timer's run does not have the variable of the shell.
  @Test func `a repository that the variable opens, and not its target's own key, is told of`() async throws {
    let home = try Home()
    try home.program.write("correct horse\n", to: "passphrase")
    let made = try await home.program.shell(#"SEALIFT_PASSPHRASE_FILE=passphrase "$0" --config config.json init"#)
    #expect(made.status == 0, "\(made.error)")
    #expect(made.error.contains("made with SEALIFT_PASSPHRASE_FILE, not with 'targets.disk.keyFile'"), "\(made.error)")
    #expect(try await home("list").status == 12)
    // What it tells to do makes that key open it.
    let line = try #require(made.error.firstMatch(of: #/`sealift (--target 'disk' key add [^`]*)`/#)?.output.1)
    #expect(line.hasSuffix(" --new-key-file '\(home.program.file("key"))'"), "\(line)")
    let added = try await home.program.shell(
      #"SEALIFT_PASSPHRASE_FILE=passphrase "$0" --config config.json "# + line)
    #expect(added.status == 0, "\(added.error)")
    #expect(try await home("list").status == 0)
    // What is named on the line is meant.
    let other = try Home()
    let meant = try await other.program.shell(
      #"SEALIFT_PASSPHRASE_FILE=passphrase "$0" --config config.json --key-file key init"#)
    #expect(meant.status == 0 && !meant.error.contains("SEALIFT_PASSPHRASE_FILE"), "\(meant.error)")
  }

  @Test func `a variable that names the file of the target's own passphrase is not told of`() async throws {
    let home = try Home()
    func file(_ name: String) -> String { home.program.file(name) }
    for name in ["passphrase", "other"] { try home.program.write("correct horse, \(name)\n", to: name) }
    for (key, value) in [("passphraseFile", file("passphrase")), ("passphraseCommand", "echo another")] {
      try home.program.write(
        #"{"targets": {"t": {"url": "file://\#(file(key))", "\#(key)": "\#(value)"}}}"#, to: "\(key).json")
    }
    func remark(_ variable: String, _ key: String) async throws -> String {
      let made = try await home.program.shell(
        #"rm -rf \#(key) state; SEALIFT_STATE=state SEALIFT_PASSPHRASE_FILE=\#(variable) "$0" --config \#(key).json init"#
      )
      #expect(made.status == 0, "\(made.error)")
      return made.error
    }
    #expect(try await !remark("./passphrase", "passphraseFile").contains("SEALIFT_PASSPHRASE_FILE"))
    let other = try await remark("other", "passphraseFile")
    #expect(other.contains("key add --new-passphrase-file '\(file("passphrase"))'` adds it"), "\(other)")
    let command = try await remark("passphrase", "passphraseCommand")
    #expect(command.contains("key add` adds it: type there what the command prints"), "\(command)")
  }

  @Test func `what stands in the way of the folder is told before the secret is asked for`() async throws {
    let home = try Home()
    func file(_ name: String) -> String { home.program.file(name) }
    try home.program.write(
      """
      {"stateFolder": "\(file("state"))", "targets": {"t": {"url": "file://\(file("key"))/one",
       "passphraseCommand": "touch \(file("asked")); echo correct horse"}}}
      """, to: "blocked.json")
    let ending = try await run(["init"], home, config: "blocked.json")
    #expect(ending.status == 1, "\(ending.error)")
    #expect(ending.error.contains("could not be made") && !home.program.exists("asked"), "\(ending.error)")
  }
}
