import Glibc
import TestKit
import Testing

private enum Jq {
  static let isThere = (Environment.value("PATH") ?? "").split(separator: ":")
    .contains { access("\($0)/jq", X_OK) == 0 }
}

/// The script that `Docs/Operating.md` gives for a timer, as it stands there.
@Suite struct NightlyScriptTests {
  private func document() throws -> String {
    String(decoding: try fileBytes("\(SourceTree.root)/Docs/Operating.md"), as: UTF8.self)
  }

  private func script(_ program: Program) throws -> String {
    let text = try document()
    let start = try #require(text.firstRange(of: "```sh\n#!/bin/sh\nend=0\n"))
    let end = try #require(text[start.upperBound...].firstRange(of: "```"))
    let lines = "end=0\n" + text[start.upperBound..<end.lowerBound]
    #expect(lines.contains("/usr/local/bin/sealift --no-progress $step"))
    // By the shell: a program that was just written is "busy" as long as a process that was begun meanwhile has it open.
    return lines.replacing("/usr/local/bin/sealift", with: "/bin/sh \(program.file("stub"))")
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], 0), ([11, 0, 0, 0], 11), ([11, 0, 0, 13], 13), ([3, 0, 0, 11], 3), ([0, 1, 0, 13], 13),
      ([0, 0, 11, 0], 11), ([13, 3, 0, 0], 13), ([3, 13, 0, 0], 13), ([11, 3, 0, 0], 3), ([13, 11, 0, 0], 13),
      ([1, 3, 0, 0], 1), ([11, 13, 3, 0], 13),
    ] as [([Int], Int32)])
  func `each step is taken, 11 hides nothing, and nothing hides 13`(statuses: [Int], expected: Int32) async throws {
    let program = try Program()
    try program.write("#!/bin/sh\necho \"$2\" >> \(program.file("done"))\nexit \"${2#step}\"\n", to: "stub")
    try program.write(try script(program), to: "run")
    let ending = try await program.start("/bin/sh", [program.file("run")] + statuses.map { "step\($0)" })
    #expect(ending.status == expected, "\(ending.error)")
    #expect(
      String(decoding: try fileBytes(program.file("done")), as: UTF8.self)
        == statuses.map { "step\($0)\n" }.joined())
  }

  /// Only its parent sees whether a program that was asked to end has ended.
  @Test func `what hangs, and does not end when it is asked to, is killed and told of`() async throws {
    let program = try Program()
    try program.write("#!/bin/sh\ntrap '' TERM\necho $$ >> \(program.file("pids"))\nexec sleep 60\n", to: "stub")
    let script = try script(program)
    // Whoever is asked by a whole group is asked twice, and the second time ends it before it has cleaned up.
    #expect(script.contains("timeout -v --foreground -k 10m $LIMIT"))
    try program.write(script.replacing("-k 10m", with: "-k 0.1"), to: "run")
    let ending = try await program.shell("LIMIT=0.5 /bin/sh run push")
    // One that has not come to its first line yet ends when it is asked to.
    #expect([124, 137].contains(ending.status) && !ending.error.isEmpty, "\(ending.status) \(ending.error)")
    let pids = String(decoding: (try? fileBytes(program.file("pids"))) ?? [], as: UTF8.self).split(separator: "\n")
    for pid in pids {
      let number = try #require(Int32(pid))
      #expect(kill(number, 0) != 0)
    }
  }

  @Test func `a job of cron has a limit, and the script is not its direct child`() throws {
    let text = try document()
    #expect(text.contains("\nLIMIT=12h\n") && !text.contains(#/\btimeout [^\n]*sealift-run/#))
  }

  /// Where summer time begins, an hour before four in the morning is left out, and systemd leaves out what was due in it.
  @Test func `nothing is due in an hour that one night of the year does not have`() throws {
    let text = try document()
    let timers = text.matches(of: #/\nOnCalendar=[^\n]* (\d\d):\d\d:\d\d([^\n]*)/#)
    let jobs = text.matches(of: #/\n\d+ +(\d+) +[*\d] +\* +[*\d] +root +[^ ]+sealift-run /#)
    #expect(timers.count == 2 && jobs.count == 3)
    let hours = timers.filter { $0.output.2 != " UTC" }.map { $0.output.1 } + jobs.map { $0.output.1 }
    #expect(hours.allSatisfy { Int($0) ?? 0 > 3 }, "\(hours)")
  }

  private func block(_ beginning: String) throws -> String {
    let text = try document()
    let start = try #require(text.firstRange(of: beginning))
    let end = try #require(text[start.upperBound...].firstRange(of: "\n```"))
    return text[start.lowerBound..<end.lowerBound] + "\n"
  }

  @Test func `each month has a service and a timer too, made of those of the week`() async throws {
    let program = try Program()
    try program.write(try block("[Unit]\nDescription=Restore the newest versions"), to: "sealift-weekly.service")
    try program.write(try block("[Unit]\nDescription=Sealift, every week"), to: "sealift-weekly.timer")
    let ending = try await program.shell(try block("sed -e 's/^Description="))
    #expect(ending.status == 0, "\(ending.error)")
    let service = String(decoding: try fileBytes(program.file("sealift-monthly.service")), as: UTF8.self)
    #expect(service.contains("\nExecStart=/usr/local/sbin/sealift-run doctor\n") && !service.contains("Restore"))
    #expect(service.contains("\nOnFailure=sealift-failed@%n.service\n"))
    let timer = String(decoding: try fileBytes(program.file("sealift-monthly.timer")), as: UTF8.self)
    let hour = try #require(timer.firstMatch(of: #/\nOnCalendar=\*-\*-01 (\d\d):00:00\n/#)?.output.1)
    #expect(Int(hour) ?? 0 > 3 && timer.contains("every month"))
    #expect(try document().contains(#/\nsystemctl enable --now sealift-monthly\.timer +[#]/#))
    #expect(try document().contains(#/\n0 +\d+ 1 \* \* +root +[^ ]+sealift-run "-q doctor"/#))
  }

  /// The lines that ask for the age of each database, with something else in the place of `sealift status --json`.
  private func alarm(_ status: String) throws -> String {
    let text = try document()
    let start = try #require(text.firstRange(of: "out=$(sealift status --json)"))
    let end = try #require(text[start.upperBound...].firstRange(of: "```"))
    return "out=$(\(status))" + text[start.upperBound..<end.lowerBound]
  }

  @Test(
    .enabled(if: Jq.isThere || Environment.isWhole),
    arguments: [
      (#"{"ageSeconds": 172800, "change": "changed"}"#, true), (#"{"ageSeconds": 172801, "change": "changed"}"#, false),
      (#"{"ageSeconds": 172801, "change": "unknown"}"#, false), ("", false),
      (#"{"ageSeconds": 900000, "change": "unchanged"}"#, true),
      (#"{"ageSeconds": null, "change": "unchanged"}"#, false),
      (#"{"ageSeconds": 1, "change": "changed"}, {"ageSeconds": 900000, "change": "changed"}"#, false),
    ] as [(String, Bool)])
  func `an alarm is given of what is old, of what has no age, and of nothing at all`(
    databases: String, isWell: Bool
  ) async throws {
    let program = try Program()
    let rows = databases.replacing("{", with: #"{"target": "disk", "#)
    try program.write(#"{"databases": [\#(rows)], "targets": [{"target": "disk"}]}"#, to: "document")
    let ending = try await program.shell(try alarm("cat document"))
    #expect((ending.status == 0) == isWell && ending.error.isEmpty, "\(ending.error)")
    #expect(try await program.shell(try alarm("cat document; exit 3")).status == 3)
  }

  /// Of a target where nothing is, and nothing is missed, a status has no row.
  @Test(.enabled(if: Jq.isThere || Environment.isWhole), arguments: ["disk", "cloud"])
  func `an alarm is given of a target that has nothing`(target: String) async throws {
    let program = try Program()
    let row = #"{"target": "\#(target)", "ageSeconds": 1, "change": "changed"}"#
    let other = #"{"target": "disk", "ageSeconds": 1, "change": "changed"}"#
    let targets = #"[{"target": "disk"}, {"target": "cloud"}]"#
    try program.write(#"{"databases": [\#(other), \#(row)], "targets": \#(targets)}"#, to: "document")
    #expect(try await (program.shell(try alarm("cat document")).status == 0) == (target == "cloud"))
  }

  @Test(.enabled(if: Jq.isThere || Environment.isWhole))
  func `the alarm asks for what a status says`() async throws {
    let home = try Home()
    try await home.must("init")
    let line = try alarm(#""$0" --config '\#(home.program.file("config.json"))' status --json"#)
    #expect(try await home.program.shell(line).status == 13)
    try await home.push()
    let ending = try await home.program.shell(line)
    #expect(ending.status == 0, "\(ending.error)")
  }

  @Test func `services wait for the time as they wait for the network`() throws {
    let text = try document()
    let services = text.matches(of: #/\nAfter=([^\n]*)/#).map { $0.output.1 }
    #expect(services.count == 2 && services.allSatisfy { $0.contains("time-sync.target") }, "\(services)")
    #expect(text.matches(of: #/\nWants=([^\n]*)time-sync.target/#).count == 2)
  }

  /// What a service waits for may never come, and its own time begins behind that.
  @Test func `no service waits for the time for ever`() throws {
    let text = try document()
    let units = text.matches(of: #/\nAfter=[^\n]*time-sync.target\n[^`]*/#).map { String($0.output) }
    #expect(units.count == 2)
    for unit in units {
      let job = try #require(unit.firstMatch(of: #/\nJobTimeoutSec=(\d+)h\n/#)?.output.1)
      let start = try #require(unit.firstMatch(of: #/\nTimeoutStartSec=(\d+)h\n/#)?.output.1)
      #expect(try #require(Int(job)) > #require(Int(start)), "\(unit)")
    }
  }

  /// What makes a service that is tried again of one that is not.
  private func retrying() throws -> Substring {
    let text = try document()
    let start = try #require(text.firstRange(of: "[Unit]\nStartLimitIntervalSec="))
    let end = try #require(text[start.upperBound...].firstRange(of: "```"))
    return text[start.lowerBound..<end.lowerBound]
  }

  /// systemd counts the starts from the first one on: where the last comes behind the interval it begins to count anew,
  /// and tells nobody.
  @Test func `a service that is tried again comes to an end`() throws {
    let (text, unit) = (try document(), try retrying())
    func number(_ pattern: Regex<(Substring, Substring)>) throws -> Int {
      let digits = try #require(unit.firstMatch(of: pattern)?.output.1)
      return try #require(Int(digits))
    }
    let interval = try number(#/\nStartLimitIntervalSec=(\d+)d\n/#) * 24 * 60
    let pause = try number(#/\nRestartSec=(\d+)min\n/#)
    let starts = try number(#/\nStartLimitBurst=(\d+)\n/#)
    let runs = text.matches(of: #/\nTimeoutStartSec=(\d+)h\n/#).compactMap { Int($0.output.1) }
    #expect(runs.count == 2 && runs.allSatisfy { starts * ($0 * 60 + pause) < interval }, "\(runs)")
    // One that took too long does not begin again: its first process ends by the signal.
    let ends = try #require(unit.firstMatch(of: #/\nRestartPreventExitStatus=([^\n]*)\n/#)?.output.1)
    let wanted: Set<Substring> = ["2", "10", "12", "13", "14", "15", "143", "SIGTERM", "SIGKILL"]
    #expect(wanted.isSubset(of: ends.split(separator: " ")))
  }

  /// The clock of that count stands still while the machine sleeps, so that days are less than the interval.
  @Test func `each night begins to count the starts anew`() async throws {
    let pattern = #/\nExecStopPost=\+-/bin/sh -c '([^'\n]*)'\n/#
    let line = try #require(try retrying().firstMatch(of: pattern)?.output.1).replacing("%n", with: "sealift.service")
    let program = try Program()
    for (result, said) in [("success", "reset-failed sealift.service\n"), ("exit-code", ""), ("timeout", "")] {
      try program.write("systemctl() { echo \"$@\"; }\nSERVICE_RESULT=\(result)\n{ \(line); } > said\n", to: "run")
      #expect(try await program.shell("/bin/sh run").status == 0)
      #expect(String(decoding: try fileBytes(program.file("said")), as: UTF8.self) == said, "\(result)")
    }
    // What failed for good is told of, and begins anew there.
    #expect(try document().contains("\nExecStartPre=+-systemctl reset-failed %i\n"))
  }
}
