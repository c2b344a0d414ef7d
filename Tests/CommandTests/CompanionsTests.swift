import FoundationEssentials
import Operations
import TestKit
import Testing

@testable import SealiftTool

/// What comes with a database, from the outside.
@Suite struct CompanionsTests {
  private func read(_ companions: String) throws -> Configuration {
    let text = #"{"databases": {"app": {"path": "/a/app.db", "companions": \#(companions)}}}"#
    return try Configuration(json: Array(text.utf8), file: "c.json")
  }

  @Test(arguments: [
    (#""attachments""#, "must be a list"), (#"[1]"#, "must be a list"), (#"[{"exclude": []}]"#, "path' is missing"),
    (#"[{"path": "a", "exlude": []}]"#, "unknown key 'exlude'"), (#"["a", "/srv/a"]"#, "would keep two"),
    (#"["../a"]"#, "without '..'"), (#"["app.db"]"#, "the database itself"),
    (#"[{"path": "a", "exclude": ["/b"]}]"#, "no relative pattern"),
  ]) func `what cannot be meant is refused, with the line`(companions: String, words: String) throws {
    let error = try #require(throws: OperationError.self) { try read(companions) }
    #expect(error.kind == .usage && error.message.contains(words) && error.message.contains("line 1"), "\(error)")
  }

  @Test func `targets, bases and the state folder that lie around a database do not come with it`() async throws {
    let home = try Home()
    for name in ["other", "plain"] {
      try FileManager.default.createDirectory(atPath: home.program.file(name), withIntermediateDirectories: true)
      try writeFile(home.program.file("\(name)/x"), [1])
    }
    let around = home.program.scratch.path
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(around)/state",
       "targets": {"other": {"url": "file://\(around)/other"},
                   "disk": {"url": "\(home.target)", "keyFile": "\(around)/key"}},
       "databases": {"app": {"path": "\(around)/app.db", "targets": ["disk"], "baseFolder": "\(around)/kept",
                             "companions": ["\(around)"]}}}
      """, to: "config.json")
    try await home.must("--target", "disk", "init")
    try await home.push()
    let document = try await home.must("--target", "disk", "--json", "show", "app:latest")
    let shown = document.replacing("\\/", with: "/")
    let folder = around.split(separator: "/").last.map(String.init) ?? ""
    for name in ["plain/x", "key"] { #expect(shown.contains("\"\(folder)/\(name)\""), "\(name)") }
    for name in ["target", "state", "kept", "other"] { #expect(!shown.contains("\"\(folder)/\(name)"), "\(name)") }
  }

  @Test func `push, show and pull tell of files, and of what is left out`() async throws {
    let home = try Home()
    let configuration = try fileBytes(home.program.file("config.json"))
    let text = String(decoding: configuration, as: UTF8.self)
    let path = "\"path\": \"\(home.program.file("app.db"))\""
    let changed = text.split(separator: path, omittingEmptySubsequences: false).joined(
      separator: path + ", \"companions\": [\"att\", \"nothing\"]")
    try home.program.write(changed, to: "config.json")
    let store = try CoreDataSample(home.program.file("Store.sqlite"), external: 2, history: true)
    try FileManager.default.createDirectory(
      atPath: home.program.file("att"), withIntermediateDirectories: true)
    try writeFile(home.program.file("att/a"), [1, 2, 3])
    try await home.must("init")
    let ending = try await home("push", "app", "--json")
    #expect(try ending.status == 3 && ending.errorDocument().code == "companionMissing")
    #expect(
      ending.output.contains(
        #""companions":{"files":1,"bytes":3,"externalFiles":0,"externalBytes":0,"left":[{"what":"missing","count":1,"paths":["nothing"]}]}"#
      ))
    #expect(ending.output.contains("1 companion is not there, and not in the version: nothing"))
    let line = try await home.must("push", store.path)
    #expect(line.contains("2 files (39.1 KiB) with it: external data"))
    let shown = try await home.must("show", "Store:latest")
    #expect(shown.contains("store      Core Data, \(CoreDataSample.uuid), SQLite"))
    #expect(shown.contains("model      \(CoreDataSample.identifier)") && shown.contains("entities   Photo 0001"))
    #expect(shown.contains("external   2 references to external files, 0 missing, 0 orphaned"))
    let json = try await home.must("show", "Store:latest", "--json")
    #expect(json.contains(#""store":{"uuid":"\#(CoreDataSample.uuid)","type":"SQLite""#))
    let pulled = try await home("pull", "Store:latest", "-o", home.program.file("Moved.sqlite"))
    #expect(pulled.status == 0 && pulled.error.contains("persistent history"))
    #expect(try names(in: home.program.file(".Moved_SUPPORT/_EXTERNAL_DATA")) == store.files.keys.sorted())

    // Without them, as a file and as a stream.
    let alone = try await home(
      "pull", "Store:latest", "-o", home.program.file("Alone.sqlite"), "--no-companions", "--json")
    #expect(alone.status == 0 && alone.output.contains(#""leftOut":{"files":2,"bytes":"#), "\(alone.error)")
    #expect(alone.output.contains("external files, which were left out") && !home.program.exists(".Alone_SUPPORT"))
    let plan = try await home.must(
      "pull", "Store:latest", "-o", home.program.file("Plan.sqlite"), "--no-companions", "-n")
    #expect(plan.contains("without its 2 companion files ("))
    let config = home.program.file("config.json")
    let streamed = try await home.program.shell(
      "\"$0\" --config '\(config)' pull Store:latest -o - --no-companions | cmp - Alone.sqlite")
    #expect(streamed.status == 0 && streamed.error.contains("left out as asked"), "\(streamed.error)")

    // To its own place only where the configuration has the database.
    let placed = try await home("restore", "app:latest", "--to", home.program.file("app.db"), "--replace")
    #expect(placed.status == 0 && placed.error.contains("with it: \(home.program.file("att"))"), "\(placed.error)")
    let staging = home.program.file("staging.db")
    let apart = try await home("restore", "app:latest", "--to", staging, "--replace")
    #expect(apart.status == 0 && apart.error.contains("its companion files are in \(staging).companions"))
    #expect(!apart.error.contains("with it: "))

    // A companion that an earlier version has is gone: safe, and not all of it.
    try removeFile(home.program.file("att"))
    let gone = try await home("push", "app")
    #expect(gone.status == 3 && gone.output.contains("version ") && gone.error.contains("not there any more"))
  }
}
