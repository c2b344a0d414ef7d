import Sealift

/// What became of the versions of every chain at every target.
struct ForgetReport {
  let isDryRun: Bool
  private(set) var done: [(target: String, chain: ForgetVersions.ChainPlan, forgot: Int)] = []
  private var failed = Failures()
  private var tried: Set<String> = []
  /// Hosts whose versions were not asked for.
  private var otherHosts: Set<String> = []
  /// How many versions were named that had been forgotten before, as notices said.
  private var forgottenBefore = 0

  var failures: [Documents.Failure] { failed.failures }

  init(isDryRun: Bool) { self.isDryRun = isDryRun }

  /// Plans for one target, shows the plan, and then carries it out. What fails is kept; the rest goes on.
  /// Once the work was cancelled nothing more is begun.
  mutating func run(
    _ request: ForgetVersions.Request, _ forget: ForgetVersions, at target: TargetSettings, _ targets: Targets,
    _ terminal: Terminal
  ) async {
    guard !failed.isInterrupted else { return }
    tried.insert(target.name)
    let plan: ForgetVersions.Plan
    do {
      plan = try await forget.plan(request, at: try targets.access(target))
    } catch {
      return failed.add(error, at: target.name)
    }
    otherHosts.formUnion(plan.otherHosts)
    forgottenBefore += plan.forgottenBefore
    for error in plan.refusals + plan.chains.flatMap(\.problems) { add(error, at: target.name) }
    if !terminal.manner.json {
      for chain in plan.chains {
        let lines = Self.lines(chain, at: target.name, within: terminal.manner.width)
        for line in lines { terminal.report(line) }
      }
    }
    for chain in plan.chains where !failed.isInterrupted {
      do {
        let (count, problem) = isDryRun ? (0, nil) : try await forget.carryOut(chain, of: plan)
        add(chain, at: target.name, forgot: count)
        if let problem { failed.add(problem, at: target.name) }
        if count > 0 { terminal.notice(Self.remark(chain, count, at: target.name, targets.command(for: target))) }
      } catch {
        failed.add(error, at: target.name)
      }
    }
  }

  mutating func add(_ chain: ForgetVersions.ChainPlan, at target: String, forgot: Int) {
    done.append((target, chain, forgot))
  }

  mutating func add(_ error: OperationError, at target: String) { failed.add(error, at: target) }

  /// - Throws: the interruption; the first failure when nothing was done.
  func end(_ terminal: Terminal) throws -> ExitStatus {
    if failures.isEmpty, done.isEmpty, forgottenBefore == 0, !failed.isInterrupted { terminal.notice(nothing) }
    if terminal.manner.json { terminal.report(Documents.forget(self, notices: terminal.notices)) }
    // Of one target the error says itself which database it was.
    let part = tried.count > 1 ? "\(Set(failures.map { $0.target }).count) of \(tried.count) targets" : nil
    return try failed.status(part, isAnythingDone: !done.isEmpty, terminal)
  }

  /// A configuration that came from another machine knows that one's databases, and this host has none of them.
  private var nothing: String {
    guard !otherHosts.isEmpty else { return "there are no versions to forget" }
    let others = StatusLines.haveSome(otherHosts.sorted())
    return "there are no versions of this host to forget; \(others): --all-hosts takes them in, --host NAME one of them"
  }

  /// A heading, and a line for every version: `goes` or `stays`, and why.
  /// - Parameter width: characters of a line; `nil`: reasons stand below one another, and nothing is cut.
  static func lines(_ chain: ForgetVersions.ChainPlan, at target: String, within width: Int?) -> [String] {
    let counts =
      Count.text(chain.plan.staying.count, "stays", "stay") + ", " + Count.text(chain.plan.going.count, "goes", "go")
    let before = chain.forgottenBefore == 0 ? "" : ", \(chain.forgottenBefore) forgotten before"
    var table = Table([("", .left), ("ID", .left), ("TIME", .left), ("", .left), ("WHY", .left)])
    let digits = VersionTable.shortestDigits(chain.versions.map(\.id))
    // What the other columns leave of a line.
    let others = digits + "  ".count * 4 + "2026-11-20T08:00:00Z".count + "stays".count
    let room = max(20, (width ?? Table.usualWidth) - others)
    for decision in chain.plan.decisions {
      let version = decision.version
      let reasons = joined(decision.reasons, to: room)
      table.add([
        "", String(version.id.prefix(digits)), Times.seconds(version.time), decision.stays ? "stays" : "goes",
        reasons.first ?? "",
      ])
      for more in reasons.dropFirst() { table.add(["", "", "", "", more]) }
    }
    let heading = printable("\(target): \(chain.database) of \(chain.host): \(counts)\(before)")
    return [heading] + table.lines(within: width).dropFirst()
  }

  /// Words in as few lines as hold them whole, none longer than `width` where that can be.
  private static func joined(_ words: [String], to width: Int) -> [String] {
    words.indices.reduce(into: []) { lines, index in
      let word = index == words.count - 1 ? words[index] : "\(words[index]),"
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(word)
      }
    }
  }

  private static func remark(
    _ chain: ForgetVersions.ChainPlan, _ count: Int, at target: String, _ command: String
  ) -> String {
    "\(target): forgot \(Count.text(count, "version")) of '\(chain.database)'; `\(command) unforget ID` takes that back until a prune"
  }
}
