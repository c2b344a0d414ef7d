import FoundationEssentials
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool

@Suite struct PruneCommandTests {
  private struct Document: Decodable {
    struct Amount: Decodable, Equatable {
      var objects: Int
      var bytes: Int
    }
    struct Chain: Decodable {
      var database: String
      var freed: Amount
      var waiting: Amount
      var young: Amount
    }
    struct Target: Decodable {
      var target: String
      var runs: String
      var chains: [Chain]
    }
    var targets: [Target]
    var dryRun: Bool
  }

  /// A pack that nothing needs, in the chain that is there.
  private func litter(_ home: Home) throws -> String {
    let version = try #require(home.program.files(below: "target/versions").first)
    let chain = try #require(version.split(separator: "/").first)
    let folder = "target/packs/\(chain)"
    try FileManager.default.createDirectory(atPath: home.program.file(folder), withIntermediateDirectories: true)
    let name = "\(folder)/\(String(repeating: "b", count: 64))"
    try home.program.write("12345", to: name)
    return name
  }

  @Test func `said first, then done`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    #expect(try await home.must("prune") == "disk: app of web-1: nothing to delete\n")
    let name = try litter(home)
    // It is young.
    let young = try await home("prune", "app")
    #expect(young.status == 0 && young.output == "disk: app of web-1: nothing to delete\n")
    #expect(young.error.contains("packs of 'app' younger than 24h that stay for now (--min-age): 5 B\n"))
    let said = try await home.must("prune", "--min-age", "0s", "--dry-run")
    #expect(said == "disk: app of web-1: would free 1 object, 5 B\n")
    let document = try decoded(Document.self, try await home.must("prune", "-n", "--min-age", "0s", "--json"))
    #expect(document.dryRun && document.targets[0].runs == "one" && document.targets[0].target == "disk")
    #expect(document.targets[0].chains[0].freed == .init(objects: 1, bytes: 5))
    #expect(document.targets[0].chains[0].young == .init(objects: 0, bytes: 0))
    let left = try decoded(Document.self, try await home.must("prune", "-n", "--json"))
    #expect(left.targets[0].chains[0].young == .init(objects: 1, bytes: 5))
    #expect(home.program.exists(name) && home.program.files(below: "target/gone").isEmpty)

    let two = try await home.must("prune", "--min-age", "0s", "--two-runs")
    #expect(two == "disk: app of web-1: condemned for a later run 1 object, 5 B\n")
    #expect(home.program.exists(name) && home.program.files(below: "target/gone").count == 1)
    #expect(try await home.must("prune") == "disk: app of web-1: freed 1 object, 5 B\n")
    #expect(!home.program.exists(name))
    try await home.must("pull", "latest", "-o", home.program.file("again.db"))
    #expect(try home.content("again.db") == home.content("app.db"))
  }

  @Test func `what was forgotten a moment ago stays where it is to rest`() async throws {
    let home = try Home()
    try await home.must("init")
    let first = try await home.push()
    try home.change()
    try await home.push()
    try await home.must("forget", first.id)
    let resting = try await home("prune", "--min-age", "0s", "--forgotten-for", "30d")
    #expect(resting.status == 0 && resting.output == "disk: app of web-1: nothing to delete\n")
    #expect(resting.error.contains("of 'app' that stay for now (--forgotten-for): 1"))
    try await home.must("unforget", first.id)
    try await home.must("pull", first.id, "-o", home.program.file("again.db"))
    try await home.must("forget", first.id)
    #expect(try await home.must("prune", "--min-age", "0s", "--forgotten-for", "0s").contains(": freed "))
  }

  @Test func `a doubt ends with 13 and deletes nothing`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    let name = try litter(home)
    let version = try #require(home.program.files(below: "target/versions").first)
    try FileManager.default.removeItem(atPath: home.program.file("target/versions/\(version)"))
    let ending = try await home("prune", "--min-age", "0s")
    #expect(ending.status == 13)
    #expect(ending.error.contains("shows nothing of chain") && ending.error.contains("hint: "))
    #expect(home.program.exists(name))
  }

  @Test func `a chain that went back ends with 13, whatever else was pruned or is away`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.must("push", "./app.db", "--name", "other")
    try await home.push()
    #expect(try await home.program.shell("cp -a target before").status == 0)
    try home.change()
    try await home.push()
    #expect(try await home.program.shell("rm -r target && mv before target").status == 0)
    let places: [[String]] = [[], ["--target", "file:///nonexistent/place"]]
    for (words, away) in [["prune"], ["list"]].flatMap({ words in places.map { (words, $0) } }) {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "--json", "--target", "disk"] + away + words)
      #expect(try ending.status == 13 && ending.errorDocument().code == "rolledBack", "\(words): \(ending.error)")
    }
  }

  @Test func `a database of which nothing is left went back, whoever asks for it`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try FileManager.default.removeItem(atPath: home.program.file("target/versions"))
    let rules = ["--keep-last", "1"]
    let asking: [[String]] = [
      ["list", "app"], ["status", "app"], ["drill", "app"], ["prune"], ["prune", "app"], ["forget"] + rules,
      ["forget", "app"] + rules, ["forget", "--all-hosts"] + rules, ["forget", "--lost"], ["forget", "--lost", "app"],
    ]
    for words in asking {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "--json"] + words)
      #expect(try ending.status == 13 && ending.errorDocument().code == "rolledBack", "\(words): \(ending.error)")
      // Who accepts the loss first cannot bring anything back any more.
      let hint = try ending.errorDocument().hint ?? ""
      if let acceptance = hint.firstRange(of: "rm '") {
        #expect(hint[..<acceptance.lowerBound].contains("`sealift repair`"), "\(words): \(hint)")
      } else {
        #expect(words[0] != "list", "\(hint)")
      }
    }
    // What was never there is told as that.
    let others: [[String]] = [["prune"], ["forget", "--lost"], ["forget"] + rules]
    for words in others {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json")] + words + ["nobody"])
      #expect(ending.status == 14, "\(words): \(ending.error)")
    }
  }

  @Test func `names and flags that mean nothing are told`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    #expect(try await home("prune", "nobody").status == 14)
    let strange = try await home("prune", "--host", "web-9")
    #expect(strange.status == 14 && strange.error.contains("disk has no version of host web-9; web-1 has some"))
    #expect(try await home.must("prune", "app", "--host", "web-1") == "disk: app of web-1: nothing to delete\n")
    #expect(try await home("prune", "--one-run", "--two-runs").status == 2)
    #expect(try await home("prune", "--min-age", "7").status == 2)
    #expect(try await home("prune", "--forgotten-for", "7").status == 2)
    let months = try await home("prune", "--forgotten-for", "1m")
    #expect(months.status == 2 && months.error.contains("tell minutes and months apart"), "\(months.error)")
    #expect(try await home("prune", "--forgotten-for", "90s", "--min-age", "5m").status == 0)
    let help = try await home("help", "prune")
    #expect(help.output.contains("\n  sealift prune"))
    #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("USAGE") })
  }

  @Test func `what waits for a version that will not come is told with the way out`() {
    func chain(waiting: Int, forVersion: Int) -> PruneRepository.Outcome.Chain {
      func amount(_ objects: Int) -> PruneRepository.Outcome.Amount { .init(objects: objects, bytes: objects) }
      return PruneRepository.Outcome.Chain(
        database: "old", host: "h", chain: "c", condemned: amount(0), freed: amount(0), waiting: amount(waiting),
        retained: amount(0), waitsForVersion: amount(forVersion))
    }
    func notices(_ chain: PruneRepository.Outcome.Chain, _ runs: PruneRepository.Runs = .two) -> [String] {
      PruneCommand.notices(Pruning(target: "nas", outcome: .init(runs: runs, chains: [chain], problems: [])))
    }
    #expect(notices(chain(waiting: 0, forVersion: 0)).isEmpty)
    let later = notices(chain(waiting: 4, forVersion: 0))
    #expect(later.count == 1 && later[0].contains("a newer version later"))
    let never = notices(chain(waiting: 4, forVersion: 4))
    #expect(never.count == 1 && never[0].contains("`sealift --target nas prune old --host h --one-run`"))
    var spaced = chain(waiting: 4, forVersion: 4)
    (spaced.database, spaced.host) = ("my app", "")
    #expect(notices(spaced)[0].contains("`sealift --target nas prune 'my app' --host '' --one-run`"))
    #expect(notices(chain(waiting: 5, forVersion: 4)).count == 2)
    #expect(notices(chain(waiting: 5, forVersion: 4), .one).isEmpty)
  }

  @Test func `what rests because no time is shown is told with the way out`() {
    let nothing = PruneRepository.Outcome.Amount(objects: 0, bytes: 0)
    for (waiting, words) in [(1, "1 forgotten version of 'old'"), (2, "2 forgotten versions of 'old'")] {
      let chain = PruneRepository.Outcome.Chain(
        database: "old", host: "h", chain: "c", condemned: nothing, freed: nothing, waiting: nothing, retained: nothing,
        resting: 2, waitsForTime: waiting)
      let outcome = PruneRepository.Outcome(runs: .one, chains: [chain], problems: [])
      let notices = PruneCommand.notices(Pruning(target: "nas", outcome: outcome))
      #expect(notices.count == 1 && notices[0].contains(words))
      #expect(notices[0].contains("`sealift --target nas prune old --host h`"))
      #expect(notices[0].hasSuffix("all that was forgotten of 'old' of h, also a moment ago"))
    }
  }

  /// Those that go on pushing have databases of that name, too.
  @Test func `of two hosts the way out of each names it`() {
    let one = PruneRepository.Outcome.Amount(objects: 1, bytes: 1)
    let chains = ["web-1", "web-2"].map { host in
      PruneRepository.Outcome.Chain(
        database: "app", host: host, chain: "c", condemned: one, freed: one, waiting: one, retained: one, resting: 1,
        waitsForVersion: one, waitsForTime: 1)
    }
    let outcome = PruneRepository.Outcome(runs: .two, chains: chains, problems: [])
    let notices = PruneCommand.notices(Pruning(target: "nas", outcome: outcome))
    for host in ["web-1", "web-2"] {
      let told = notices.filter { $0.contains("`sealift --target nas prune app --host \(host)") }
      #expect(told.count == 2 && told.allSatisfy { $0.contains(" of 'app' of \(host) ") })
    }
  }

  @Test func `a chain that was cut leaves the exit status to what cut it`() {
    let nothing = PruneRepository.Outcome.Amount(objects: 0, bytes: 0)
    func isAnythingDone(_ cuts: [Bool]) -> Bool {
      let chains = cuts.map { isCut in
        PruneRepository.Outcome.Chain(
          database: "d", host: "h", chain: "c", condemned: nothing, freed: nothing, waiting: nothing,
          retained: nothing, isCut: isCut)
      }
      let outcome = PruneRepository.Outcome(runs: .one, chains: chains, problems: [])
      return PruneCommand.isAnythingDone([Pruning(target: "t", outcome: outcome)])
    }
    #expect(!isAnythingDone([]) && !isAnythingDone([true]))
    #expect(isAnythingDone([false]) && isAnythingDone([true, false]))
  }

  @Test func `every member of its document is described`() throws {
    let documentation = String(decoding: try fileBytes("\(SourceTree.root)/Docs/Json.md"), as: UTF8.self)
    let nothing = PruneRepository.Outcome.Amount(objects: 0, bytes: 0)
    let chain = PruneRepository.Outcome.Chain(
      database: "d", host: "h", chain: "c", condemned: nothing, freed: nothing, waiting: nothing, retained: nothing)
    let pruning = Pruning(
      target: "t",
      outcome: .init(runs: .one, chains: [chain], problems: [OperationError(.failed, "m")]))
    let keys = Documents.prune([pruning], dryRun: true, failures: [], notices: []).keys
    #expect(keys.isSuperset(of: ["retainedBecause", "resting", "waiting", "runs", "problems"]))
    for key in keys { #expect(documentation.contains("`\(key)`"), "Docs/Json.md does not describe `\(key)`") }
  }

  @Test func `doctor remembers what it found`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.must("doctor", "-q")
    #expect(home.program.files(below: "state/doctor").count == 1)
  }
}
