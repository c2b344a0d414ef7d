import Glibc
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool

/// Tables of names and paths, in a pipe and on terminals of any width.
@Suite struct ListTests {
  private func version(_ database: String, host: String = "web-1", tags: [String] = []) -> VersionSummary {
    VersionSummary(
      id: "0123456789abcdef", database: database, host: host, target: "nas", time: 1_795_521_103_516, size: 4096,
      pageSize: 4096, pages: 1, method: "vacuum", bytesNew: 1, sequence: 12, tags: tags, note: "", damaged: false,
      notCheckable: false, sha256: "00", formatVersion: 1)
  }

  /// Two databases whose names begin alike, pushed.
  private func home() async throws -> Home {
    let home = try Home()
    func file(_ name: String) -> String { home.program.file(name) }
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(file("state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(file("key"))"}},
       "databases": {"customer-orders-eu": {"path": "\(file("app.db"))"},
                     "customer-orders-us": {"path": "\(file("us.db"))", "fork": 2}}}
      """, to: "config.json")
    try SQLite.run("CREATE TABLE l(a); INSERT INTO l VALUES (1)", on: file("us.db"))
    try await home.must("init")
    try await home.must("push")
    return home
  }

  @Test func `a pipe gets names and paths whole`() async throws {
    let home = try await home()
    let list = try await home.must("list")
    #expect(list.contains("  customer-orders-eu  ") && list.contains("  customer-orders-us  "), "\(list)")
    let folder = home.program.file(String(repeating: "long-", count: 24))
    #expect(mkdir(folder, 0o700) == 0)
    let pulled = try await home.must("pull", "--all", folder)
    #expect(pulled.contains("  \(folder)/customer-orders-eu.sqlite\n"), "\(pulled)")
    #expect(!pulled.contains("…"))
  }

  @Test(arguments: [(70, false), (100, true)])
  func `a terminal is filled, and no more`(width: Int, isWhole: Bool) async throws {
    let home = try await home()
    let screen = try await PlayedTerminal(columns: width).screen(
      of: home.program, ["--config", home.program.file("config.json"), "list", "--no-progress"])
    // The last line is not the program's.
    #expect(screen.hasSuffix("asked 0 status 0\n"), "\(screen)")
    let lines = screen.split(whereSeparator: \.isNewline).dropLast().filter { !$0.hasPrefix("sealift: ") }
    #expect(lines.count == 3 && lines.allSatisfy { $0.count <= width }, "\(screen)")
    #expect(lines.contains { $0.contains("  customer-orders-eu  ") } == isWhole, "\(screen)")
    #expect(lines.dropFirst().allSatisfy { $0.contains("  customer") }, "\(screen)")
  }

  @Test func `a database that is nowhere is told, and a tag that no version has`() async throws {
    let home = try await home()
    let nowhere = try await home("list", "nope")
    #expect(nowhere.status == 14 && nowhere.error.contains("disk: there is no version of 'nope'"), "\(nowhere.error)")
    let slip = try await home("list", "customer-order-eu")
    #expect(slip.status == 14 && slip.error.contains("hint: Did you mean 'customer-orders-eu'?"), "\(slip.error)")
    let tagged = try await home("list", "customer-orders-eu", "--tag", "nope")
    #expect(tagged.status == 0 && tagged.error.contains("disk: no version with the tag 'nope'"), "\(tagged.error)")
  }

  @Test func `nothing is missed where nothing was pushed, and much where only packs are left`() async throws {
    let home = try Home()
    try await home.must("init")
    let fresh = try await home("list")
    #expect(fresh.status == 0 && fresh.error == "sealift: disk: no versions\n", "\(fresh.error)")
    let pulled = try await home("pull", "latest", "-o", "-")
    #expect(pulled.status == 14 && pulled.error.contains("there are no versions at disk"), "\(pulled.error)")
    #expect(pulled.error.contains("Push a database first"))
    // So that it needs a pack.
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(300000))", on: home.program.file("app.db"))
    try await home.push()
    let gone = try await home.program.shell("find target/versions -type f -delete; rm -r state")
    try #require(gone.status == 0, "\(gone.error)")
    let left = try await home("list")
    #expect(left.status == 0 && left.error.contains("below versions/ are gone: bring them"), "\(left.error)")
    #expect(try await home.must("list", "--json").contains(#""freshnessProvable":false"#))
  }

  @Test func `a list of one database proves its freshness, whatever else is there`() async throws {
    let home = try await home()
    #expect(try await home.program.shell("rm -r state").status == 0)
    for isSeen in [false, true] {
      let listed = try await home.must("list", "customer-orders-eu", "--json")
      #expect(listed.contains(#""freshnessProvable":\#(isSeen)"#), "\(listed)")
    }
    #expect(try await home.must("list", "--json").contains(#""freshnessProvable":false"#))
  }

  @Test func `show tells how many rows the tables had`() async throws {
    let home = try await home()
    let shown = try await home.must("show", "customer-orders-us:latest")
    #expect(shown.contains("\nrows       l 1\n"), "\(shown)")
    let document = try await home.must("show", "customer-orders-eu:latest", "--json")
    #expect(document.contains(#""tables":[{"table":"t","rows":3}]"#), "\(document)")
  }

  @Test func `show and lists tell the fork where there is one`() async throws {
    let home = try await home()
    let shown = try await home.must("show", "customer-orders-us:latest")
    #expect(shown.contains("\nfork       2\n"), "\(shown)")
    #expect(try await !home.must("show", "customer-orders-eu:latest").contains("fork"))
    let list = try await home.must("list", "--json")
    #expect(list.contains(#""fork":2"#) && list.contains(#""fork":null"#), "\(list)")
  }

  @Test func `tags give way before names do, and nothing does without a terminal`() {
    let long = String(repeating: "tag-", count: 30)
    let one = version("customer-orders-eu", tags: [long])
    let narrow = VersionTable.lines([one], within: 80)
    #expect(narrow.allSatisfy { $0.count == 80 || $0.hasPrefix("ID") })
    #expect(narrow[1].contains("  customer-orders-eu  ") && narrow[1].hasSuffix("…"))
    let whole = VersionTable.lines([one], within: nil)
    #expect(whole[1].contains("  customer-orders-eu  ") && whole[1].hasSuffix("  \(long)"))
    // Where there is no room for names either, the widest of them gives way.
    let names = VersionTable.lines([version("customer-orders-eu"), version("b", host: "c")], within: 70)
    #expect(names.allSatisfy { $0.count <= 70 } && names[1].contains("  web-1  "), "\(names)")
    #expect(names[1].contains("  customer") && names[1].contains("…  web-1"))
  }

  @Test func `hosts are shown where there are several`() {
    #expect(!VersionTable.lines([version("a"), version("b")], within: nil)[0].contains("HOST"))
    let lines = VersionTable.lines([version("a"), version("a", host: "web-2")], within: nil)
    #expect(lines[0].contains("DATABASE  HOST ") && lines[1].contains("  web-1  ") && lines[2].contains("  web-2  "))
  }
}
