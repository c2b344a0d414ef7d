import Glibc
import Operations
import Sealift
import TestKit
import Testing

@Suite struct ConfigCheckTests {
  @Test func `every value is shown with where it came from`() async throws {
    let home = try Home()
    let output = try await home.must("config", "check")
    let file = home.program.file("config.json")
    for line in [
      "configuration: \(file)", "host = web-1  (\(file):1)", "targets.disk.url = \(home.target)  (\(file):2)",
      "databases.app.method = vacuum  (default)", "verifyRemote = 24h  (default)",
      "patience = 15m  (default)",
    ] { #expect(output.contains(line + "\n"), "no \(line) in \(output)") }
    let limited = try await home.must("config", "check", "--limit-upload", "1MiB")
    #expect(limited.contains("limits.upload = 1MiB  (command line)\n"))
  }

  @Test func `a session token beside a fixed access key is remarked`() async throws {
    let program = try Program()
    let keys = #""accessKeyId": "KEYID", "secretKeyFile": "/secret""#
    for (token, isRemarked) in [("", false), (#", "sessionTokenFile": "/token""#, true)] {
      try program.write(
        #"{"stateFolder": "/s", "targets": {"t": {"url": "s3://bucket/p", \#(keys)\#(token)}}}"#, to: "c.json")
      let ending = try await program.start(Program.path, ["--config", "c.json", "config", "check"])
      #expect(ending.status == 0 && ending.error.contains("t: temporary credentials") == isRemarked, "\(ending.error)")
    }
  }

  @Test func `databases that would be restored into one another are remarked`() async throws {
    let program = try Program()
    func folder(_ path: String, without pattern: String) -> String {
      #"{"path": "\#(path)", "exclude": ["\#(pattern)"]}"#
    }
    for (companion, isRemarked) in [
      (#""data""#, true), (#""other""#, false), (#""data/inner.db""#, true),
      (folder("data", without: "inner.db*"), false), (folder("data", without: "inner.db"), true),
      (folder("data", without: "other"), true),
    ] {
      try program.write(
        #"{"stateFolder": "/s", "targets": {"t": {"url": "s3://bucket/p?style=path"}}, "databases": {"#
          + #""vault": {"path": "/srv/vault.db", "companions": [\#(companion)]}, "#
          + #""inner": {"path": "/srv/data/inner.db"}}}"#, to: "c.json")
      let ending = try await program.start(Program.path, ["--config", "c.json", "config", "check"])
      #expect(ending.status == 0, "\(ending.error)")
      let isTold = ending.error.contains("/srv/data/inner.db") && ending.error.contains("restore --all")
      #expect(isTold == isRemarked, "\(ending.error)")
      #expect(!ending.error.contains("one of the two"), "\(ending.error)")
    }
  }

  @Test func `folders of ours in what comes with a database are remarked, and refused as companions`() async throws {
    let program = try Program()
    func check(_ companion: String) async throws -> ProgramEnd {
      try program.write(
        #"{"stateFolder": "/srv/data/state", "targets": {"t": {"url": "file:///srv/data/backup"}}, "databases": {"#
          + #""vault": {"path": "/srv/vault.db", "companions": ["\#(companion)"], "baseFolder": "/srv/bases"}}}"#,
        to: "c.json")
      return try await program.start(Program.path, ["--config", "c.json", "config", "check"])
    }
    let around = try await check("data")
    #expect(around.status == 0 && !around.error.contains("base folder"), "\(around.error)")
    for words in ["the repository of t lies in its companion 'data' (/srv/data/backup)", "the state folder lies in"] {
      #expect(around.error.contains(words), "\(around.error)")
    }
    let bases = try await check("/srv")
    #expect(bases.error.contains("the base folder of 'vault' lies in its companion '/srv'"), "\(bases.error)")
    let same = try await check("data/backup")
    #expect(same.status == 2 && same.error.contains("'data/backup', which is the repository of t"), "\(same.error)")
    #expect(try await !check("other").error.contains("lies in its companion"))
  }

  @Test func `what becomes of databases is remarked by where they and their companions come to lie`() async throws {
    let program = try Program()
    func remarks(_ vault: String, _ other: String) async throws -> String {
      try program.write(
        #"{"stateFolder": "/s", "targets": {"t": {"url": "s3://bucket/p?style=path"}}, "databases": {"#
          + #""vault": {"path": "/srv/vault.db", "companions": [\#(vault)]}, "other": \#(other)}}"#, to: "c.json")
      let ending = try await program.start(Program.path, ["--config", "c.json", "config", "check"])
      #expect(ending.status == 0, "\(ending.error)")
      return ending.error
    }
    let twice = try await remarks(#""/etc/a/keys""#, #"{"path": "/srv/other.db", "companions": ["/etc/b/keys"]}"#)
    #expect(twice.contains("have one place, /srv/keys") && twice.contains("one of the two only"), "\(twice)")
    // A folder that is left out has all that is in it left out.
    let inner = #"{"path": "/srv/data/in/inner.db"}"#
    let outside = try await remarks(#"{"path": "data", "exclude": ["in"]}"#, inner)
    #expect(!outside.contains("restore --all"), "\(outside)")
    let inside = try await remarks(#"{"path": "data", "exclude": ["on"]}"#, inner)
    #expect(inside.contains("restore --all") && inside.contains("exclude"), "\(inside)")
  }

  @Test func `what holds of an S3 target is shown, whatever says it, and no secret`() async throws {
    var program = try Program()
    try program.write(
      #"{"stateFolder": "/s", "targets": {"t": {"url": "s3://bucket/p?style=path&storageClass=COLD"}}}"#, to: "c.json")
    func shown(_ words: String...) async throws -> String {
      let ending = try await program.start(Program.path, ["--config", "c.json", "config", "check"] + words)
      #expect(ending.status == 0, "\(ending.error)")
      return ending.output
    }
    let bare = try await shown()
    for line in [
      "region = us-east-1  (default)", "endpoint = https://s3.us-east-1.amazonaws.com  (default)",
      "style = path  (c.json:1)", "storageClass = COLD  (c.json:1)",
    ] { #expect(bare.contains("targets.t.\(line)\n"), "no \(line) in \(bare)") }
    #expect(bare.contains("targets.t.credentials = (none: no S3 credentials were found"))

    #expect(try await program.shell("mkdir home/.aws").status == 0)
    let keys = program.file("home/.aws/credentials")
    try program.write(
      "[work]\naws_access_key_id = KEYID\naws_secret_access_key = SECRET\nregion = eu-west-3\n",
      to: "home/.aws/credentials")
    program.environment["AWS_PROFILE"] = "work"
    let profile = try await shown()
    for line in [
      "profile = work  (environment AWS_PROFILE)", "credentials = profile work  (\(keys))",
      "region = eu-west-3  (profile work)",
    ] { #expect(profile.contains("targets.t.\(line)\n"), "no \(line) in \(profile)") }

    program.environment["AWS_ACCESS_KEY_ID"] = "KEYID"
    program.environment["AWS_SECRET_ACCESS_KEY"] = "SECRET"
    program.environment["AWS_REGION"] = "eu-north-1"
    program.environment["AWS_ENDPOINT_URL"] = "http://localhost:9"
    program.environment["AWS_CA_BUNDLE"] = "/ca.pem"
    let variables = try await shown("--target", "s3://other?region=here")
    for line in [
      "t.credentials = variables  (environment AWS_ACCESS_KEY_ID)", "t.region = eu-north-1  (environment AWS_REGION)",
      "t.endpoint = http://localhost:9  (environment AWS_ENDPOINT_URL)",
      "t.caFile = /ca.pem  (environment AWS_CA_BUNDLE)", "s3://other?region=here.region = here  (command line)",
      "s3://other?region=here.style = path  (default)",
    ] { #expect(variables.contains("targets.\(line)\n"), "no \(line) in \(variables)") }
    for output in [profile, variables] { #expect(!output.contains("KEYID") && !output.contains("SECRET")) }
    program.environment["AWS_ENDPOINT_URL"] = "nonsense"
    #expect(try await program("--config", "c.json", "config", "check").status == 2)
  }

  @Test func `what nothing says is shown as it is assumed`() async throws {
    let home = try Home()
    let output = try await home.must("config", "check")
    for line in [
      "databases.app.drill.timeout = 60s", "databases.app.drill.foreignKeys = true",
      "databases.app.baseFolder = \(home.program.file("state"))/bases", "baseLimit = 20GiB",
    ] { #expect(output.contains("\(line)  (default)\n"), "no \(line) in \(output)") }
    // To write it for a folder is an error.
    #expect(!output.contains("allowPlainPassword"))
    let program = try Program()
    let (name, state) = ("host = \(HostName.ofSystem())", program.file("home/.local/state/sealift"))
    let bare = try await program("config", "check")
    #expect(bare.output.contains("\(name)  (default)\n") && bare.output.contains("baseLimit = 20GiB  (default)\n"))
    #expect(!program.exists("home/.local"))
    try program.write(#"{"targets": {"d": {"url": "webdavs://ann@h/p", "user": "bob"}}}"#, to: "c.json")
    #expect(try await program.shell("mkdir -p '\(state)' && echo noted > '\(state)/host'").status == 0)
    let noted = try await program("config", "check", "--config", "c.json")
    #expect(noted.output.contains("host = noted  (\(state)/host)\n"))
    #expect(try await program.shell("printf 'a\\001b' > '\(state)/host'").status == 0)
    let spoilt = try await program("config", "check", "--config", "c.json")
    #expect(spoilt.output.contains("host = (cannot be read)  (\(state)/host)\n"))
    #expect(noted.output.contains("targets.d.allowPlainPassword = false  (default)\n"))
    #expect(noted.output.contains("targets.d.user = ann  (c.json:1)\n") && !noted.output.contains("bob"))
  }

  @Test func `a target that is neither configured nor a URL ends with 2`() async throws {
    let home = try Home()
    let ending = try await home("--target", "dsik", "config", "check", "--json")
    #expect(try ending.status == 2 && ending.errorDocument().code == "unknownTarget")
    try await home.must("--target", "disk", "config", "check")
  }

  /// Each push of it would end with 3.
  @Test(arguments: [("file:///x", "file:///x"), ("/x", "file:///x/"), ("s3://bucket/p", "s3://bucket/p?region=here")])
  func `one address under two names is told where a database goes to both`(_ one: String, _ other: String) async throws
  {
    let program = try Program()
    func check(_ databases: String) async throws -> ProgramEnd {
      try program.write(
        """
        {"stateFolder": "/s",
         "targets": {"nas": {"url": "\(one)"},
                     "admin": {"url": "\(other)"}},
         "databases": {\(databases)}}
        """, to: "c.json")
      return try await program("--config", "c.json", "--json", "config", "check")
    }
    for targets in ["", #", "targets": ["admin", "nas"]"#] {
      let ending = try await check(#""own": {"path": "/o", "targets": ["nas"]}, "app": {"path": "/a"\#(targets)}"#)
      let error = try ending.errorDocument()
      #expect(ending.status == 2 && error.code == "sameRepository", "\(ending.error)")
      for part in ["c.json:2: 'targets.nas.url'", "c.json:3: 'targets.admin.url'", "'app' would be pushed to both"] {
        #expect(error.message.contains(part), "\(error.message)")
      }
    }
    // Two who may do different things there.
    for databases in ["", #""app": {"path": "/a", "targets": ["nas"]}, "web": {"path": "/w", "targets": ["admin"]}"#] {
      let ending = try await check(databases)
      #expect(ending.status == 0, "\(ending.error)")
    }
  }

  /// Many servers have one address for all, and show each user what is his.
  @Test(arguments: [
    (#""url": "webdavs://ann@h/dav""#, #""url": "webdavs://h/dav", "user": "bob""#, true),
    (#""url": "webdavs://ann@h/dav", "user": "bob""#, #""url": "webdavs://bob@h/dav""#, true),
    (#""url": "webdavs://ann@h/dav""#, #""url": "webdavs://h/dav", "user": "ann""#, false),
    (#""url": "webdavs://h/dav""#, #""url": "webdavs://h/dav/""#, false),
  ])
  func `one address of two users may be two places`(_ one: String, _ other: String, arePlaces: Bool) async throws {
    let program = try Program()
    try program.write(
      """
      {"stateFolder": "/s", "databases": {"app": {"path": "/a"}},
       "targets": {"one": {\(one)},
                   "two": {\(other)}}}
      """, to: "c.json")
    let ending = try await program("--config", "c.json", "--json", "config", "check")
    #expect(ending.status == (arePlaces ? 0 : 2), "\(ending.error)")
    #expect(ending.output.contains("are one address and two users") == arePlaces, "\(ending.output)")
    if !arePlaces { #expect(try ending.errorDocument().code == "sameRepository") }
  }

  @Test func `what a URL of the command line changes of a target is shown`() async throws {
    let program = try Program()
    try program.write(
      """
      {"stateFolder": "/s",
       "targets": {"t": {"url": "s3://bucket/p?storageClass=COLD", "region": "eu-north-1"},
                   "u": {"url": "s3://bucket/u", "region": "eu-north-1"}}}
      """, to: "c.json")
    let ending = try await program(
      "--config", "c.json", "--target", "s3://bucket/p?region=eu-west-1&style=path", "config", "check")
    #expect(ending.status == 0, "\(ending.error)")
    for line in [
      "t.region = eu-west-1  (command line)", "t.style = path  (command line)", "t.storageClass = COLD  (c.json:2)",
      "t.endpoint = https://s3.eu-west-1.amazonaws.com  (default)", "u.region = eu-north-1  (c.json:3)",
    ] { #expect(ending.output.contains("targets.\(line)\n"), "no \(line) in \(ending.output)") }
    #expect(!ending.output.contains("t.region = eu-north-1"))
  }

  @Test(arguments: ["DELETE FROM t", "SELECT 1; SELECT 2", "selct 1"])
  func `a query that no drill could ask is told`(_ query: String) async throws {
    let home = try Home()
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    func write(_ query: String) throws {
      try home.program.write(
        config.replacing("app.db\"}", with: "app.db\", \"drill\": {\"query\": \"\(query)\"}}"), to: "config.json")
    }
    try write("SELECT a FROM t")
    try await home.must("config", "check")
    try write(query)
    let ending = try await home("config", "check", "--json")
    let error = try ending.errorDocument()
    #expect(ending.status == 2 && error.code == "query")
    #expect(error.message.contains("config.json:3: 'databases.app.drill.query'"), "\(error.message)")
  }

  @Test func `the configuration is found in its usual places, in order`() async throws {
    var program = try Program()
    for (number, folder) in ["home/.config/sealift", "xdg/sealift", "named"].enumerated() {
      _ = try await program.shell("mkdir -p \(folder)")
      try program.write(#"{"host": "place-\#(number)"}"#, to: "\(folder)/config.json")
    }
    #expect(try await program("config", "check").output.contains("host = place-0"))
    program.environment["XDG_CONFIG_HOME"] = program.file("xdg")
    #expect(try await program("config", "check").output.contains("host = place-1"))
    program.environment["SEALIFT_CONFIG"] = program.file("named/config.json")
    #expect(try await program("config", "check").output.contains("host = place-2"))
    #expect(
      try await program("config", "check", "--config", "home/.config/sealift/config.json").output.contains(
        "host = place-0"))
    program.environment["SEALIFT_CONFIG"] = "/nonexistent"
    #expect(try await program("config", "check").status == 2)
  }

  /// The next one may have other targets.
  @Test(arguments: ["/nonexistent/config.json", "config.json"])
  func `a configuration whose link leads nowhere is not passed over`(place: String) async throws {
    var program = try Program()
    _ = try await program.shell("mkdir -p home/.config/sealift xdg/sealift")
    try program.write(#"{"host": "of-home", "stateFolder": "/s"}"#, to: "home/.config/sealift/config.json")
    program.environment["XDG_CONFIG_HOME"] = program.file("xdg")
    #expect(try await program("config", "check").output.contains("of-home"))
    #expect(symlink(place, program.file("xdg/sealift/config.json")) == 0)
    let ending = try await program("--json", "config", "check")
    #expect(try ending.status == 2 && ending.errorDocument().code == "configurationUnreadable", "\(ending.error)")
    // What is a file where a folder should be holds none.
    #expect(try await program.shell("rm -r xdg/sealift && touch xdg/sealift").status == 0)
    #expect(try await program("config", "check").output.contains("of-home"))
  }

  /// It may name a command, which would be run.
  @Test func `a configuration that anybody may change is not obeyed`() async throws {
    let program = try Program()
    try program.write(#"{"host": "of-all", "stateFolder": "/s"}"#, to: "c.json", mode: 0o666)
    let ending = try await program("--config", "c.json", "--json", "config", "check")
    let error = try ending.errorDocument()
    #expect(ending.status == 2 && error.code == "configurationExposed", "\(ending.error)")
    #expect(error.hint?.contains("chmod o-w c.json") == true)
    #expect(chmod(program.file("c.json"), 0o664) == 0)
    #expect(try await program("--config", "c.json", "config", "check").output.contains("of-all"))
  }

  /// Only root can give a file to another user.
  @Test(.enabled(if: geteuid() == 0))
  func `root obeys another user's configuration where it is named, and not where HOME leads to it`() async throws {
    let program = try Program()
    let path = "home/.config/sealift/config.json"
    _ = try await program.shell("mkdir -p home/.config/sealift")
    try program.write(#"{"host": "of-other", "stateFolder": "/s"}"#, to: path)
    #expect(chown(program.file(path), 65534, 65534) == 0)
    // As a container shows the host's file that is mounted there: root's own folder holds it.
    #expect(try await program("config", "check").output.contains("of-other"))
    for (owner, mode) in [(65534, 0o755), (0, 0o1777)] as [(uid_t, mode_t)] {
      #expect(chown(program.file("home"), owner, owner) == 0 && chmod(program.file("home"), mode) == 0)
      let ending = try await program("--json", "config", "check")
      #expect(try ending.status == 2 && ending.errorDocument().code == "configurationExposed", "\(ending.error)")
    }
    #expect(try await program("--config", path, "config", "check").output.contains("of-other"))
  }

  /// As a service has it that root's cron starts for a user, or from which homes are hidden.
  @Test(.enabled(if: geteuid() == 0))
  func `a HOME that is another user's and cannot be entered holds no configuration of ours`() async throws {
    var program = try Program()
    program.environment["SEALIFT_STATE"] = "/s"
    let (home, inner) = (program.file("home"), program.file("home/.config"))
    #expect(mkdir(inner, 0o700) == 0 && chmod(program.scratch.path, 0o755) == 0)
    // By a descriptor: another user need not get into the folder where the program lies.
    let line = "exec setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9"
    func check() async throws -> ProgramEnd {
      try await program.shell(#"\#(line) --json --target file:///x config check 9<"$0""#)
    }
    #expect(chmod(home, 0o700) == 0)
    let passed = try await check()
    #expect(passed.status == 0, "\(passed.error)")
    // One that is one's own, and one that somebody has closed on the way.
    for (owner, mode) in [(65534, 0), (0, 0o755)] as [(uid_t, mode_t)] {
      #expect(chown(home, owner, owner) == 0 && chmod(home, mode) == 0)
      let refused = try await check()
      let error = try refused.errorDocument()
      #expect(refused.status == 2 && error.code == "configurationUnreadable", "\(refused.error)")
      #expect(error.hint?.contains("set HOME to a folder of this user's") == true)
    }
  }

  /// Kubernetes shows all of a volume with one mode, and nobody can change it there.
  @Test func `what is mounted read-only anybody may seem to write to`() throws {
    let program = try Program()
    let path = try program.write("{}", to: "c.json", mode: 0o777)
    #expect(try CommandingFile.read(path, limit: 9, isTrusted: true, isReadOnly: true) == Array("{}".utf8))
    #expect(throws: FileContent.Failure.self) {
      try CommandingFile.read(path, limit: 9, isTrusted: true, isReadOnly: false)
    }
  }

  /// It would be another one wherever a command is run.
  @Test(arguments: [("XDG_CONFIG_HOME", "xdg/sealift"), ("HOME", "xdg/.config/sealift")])
  func `a configuration below a relative folder is not read`(variable: String, folder: String) async throws {
    var program = try Program()
    _ = try await program.shell("mkdir -p \(folder)")
    try program.write(#"{"host": "of-here", "stateFolder": "/s"}"#, to: "\(folder)/config.json")
    program.environment[variable] = "xdg"
    #expect(try await !program("config", "check").output.contains("of-here"))
    program.environment[variable] = program.file("xdg")
    #expect(try await program("config", "check").output.contains("of-here"))
  }

  @Test func `the state folder is found in its usual places, in order`() async throws {
    var program = try Program()
    #expect(
      try await program("config", "check").output.contains(
        "stateFolder = \(program.file("home/.local/state/sealift"))  (default)"))
    program.environment["XDG_STATE_HOME"] = "/x"
    #expect(
      try await program("config", "check").output.contains("stateFolder = /x/sealift  (environment XDG_STATE_HOME)"))
    program.environment["SEALIFT_STATE"] = "/y"
    #expect(try await program("config", "check").output.contains("stateFolder = /y  (environment SEALIFT_STATE)"))
    try program.write(#"{"stateFolder": "/z"}"#, to: "c.json")
    #expect(try await program("--config", "c.json", "config", "check").output.contains("stateFolder = /z  (c.json:1)"))
    program.environment = ["PATH": "/usr/bin:/bin"]
    #expect(try await program("config", "check").status == 2)
  }

  @Test(
    arguments: [
      ("stateFolder", #"{"stateFolder": "~/s"}"#),
      ("databases.d.path", #"{"databases": {"d": {"path": "~/d.db"}}}"#),
      ("databases.d.baseFolder", #"{"databases": {"d": {"path": "/d.db", "baseFolder": "~/b"}}}"#),
      ("databases.d.companions", #"{"databases": {"d": {"path": "/d.db", "companions": ["a", "~/keys"]}}}"#),
      ("databases.d.companions.path", #"{"databases": {"d": {"path": "/d.db", "companions": [{"path": "~/keys"}]}}}"#),
      ("targets.t.keyFile", #"{"targets": {"t": {"url": "file:///t", "keyFile": "~/key"}}}"#),
    ]) func `a home folder that is not known is no folder called ~`(key: String, text: String) async throws
  {
    var program = try Program()
    try program.write(text, to: "c.json")
    program.environment["SEALIFT_STATE"] = program.file("state")
    #expect(try await program("--config", "c.json", "config", "check").status == 0)
    program.environment["HOME"] = nil
    let ending = try await program("--config", "c.json", "config", "check")
    #expect(ending.status == 2 && ending.error.contains("'\(key)' begins at the home folder"), "\(ending.error)")
  }

  @Test func `mistakes end with 2, also as JSON`() async throws {
    let program = try Program()
    try program.write(#"{"databsaes": {}}"#, to: "c.json")
    let text = try await program("config", "check", "--config", "c.json")
    #expect(text.status == 2)
    #expect(
      text.error
        == "sealift: error: c.json, line 1: unknown key 'databsaes'\nsealift: hint: Did you mean 'databases'?\n")
    let document = try await program("--json", "config", "check", "--config", "c.json")
    #expect(try document.errorDocument().code == "unknownKey")
    #expect(try await program("push", "--config", "c.json").status == 2)
  }

  @Test func `the example passes`() async throws {
    let program = try Program()
    let ending = try await program("--config", "\(SourceTree.root)/config.example.json", "config", "check", "--json")
    #expect(ending.status == 0, "\(ending.error)")
    struct Document: Decodable {
      struct Content: Decodable { var file: String }
      var configuration: Content
    }
    #expect(try decoded(Document.self, ending.output).configuration.file.hasSuffix("config.example.json"))
  }
}
