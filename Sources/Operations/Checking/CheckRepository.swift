import Repositories
import Sealing
import Storage

/// `sealift check`: whether everything that versions need is at the target, and is what was stored. Changes nothing there.
package struct CheckRepository: Sendable {
  /// How much of the packs is read; their structure always is.
  package enum Reading: Sendable, Equatable {
    case structure
    case all
    /// So much of them, at random: above 0, at most 1.
    case share(Double)
    /// The part of this number, from 1 on, of so many; all of them together read everything once.
    case part(Int, of: Int)
    /// About so many bytes, at random.
    case bytes(Int)
  }

  package struct Finding: Sendable {
    package var object: String
    /// `missing`, `cut`, `damaged`, `wrong`; `later`: of a later format; `condemned`, `costly` and `spare` are remarks.
    package var kind: String
    package var what: String
    package var hint: String?
    package var isDamage: Bool
    /// Something that versions may hang on could not be looked at because of it.
    package var leavesDoubt = false
  }

  package struct Version: Sendable {
    /// 64 hexadecimal digits; `nil` when nothing says it any more.
    package var id: String?
    package var database: String?
    package var host: String?
    package var sequence: UInt64
    /// Milliseconds since 1970 UTC.
    package var time: UInt64?
    /// The damaged or missing objects that harm it; those of a later format where it could not be judged.
    package var objects: [String]
    /// The database failed its own check when it was pushed; `nil` when nothing says it any more.
    package var damaged: Bool?
    /// What somebody found damaged of it before, and nobody took back.
    package var foundDamaged: String?
    /// What harms it is of its companions alone.
    package var sparesDatabase = false
  }

  package struct Outcome: Sendable {
    package var target: String
    package var findings: [Finding] = []
    /// What does not fit in a chain as a whole.
    package var problems: [OperationError] = []
    /// Those of them that no repair mends: what was said of versions, and is lost.
    package var lostWords: [OperationError] = []
    package var harmed: [Version] = []
    package var whole: [Version] = []
    /// Those of them that an earlier check or drill on this machine found harmed, in what this one did not look at.
    package var harmedEarlier: [Version] = []
    /// Neither: only a newer program can say.
    package var unjudged: [Version] = []
    package var forgotten = 0
    package var packs = 0
    package var packsRead = 0
    package var bytesRead = 0
    package var unreferenced = 0
    package var unreferencedBytes = 0
    /// Chains that have packs and no manifest at all, and their packs, which are among those.
    package var bareChains = 0
    package var barePacks = 0
    package var unknown = 0
    package var isSound = true
    /// Nothing that versions may hang on is of a later format.
    package var isJudged = true
    /// No copy of the configuration can be read: whoever writes is refused, a repair too unless this machine remembers it.
    package var lacksConfiguration = false
    package var remembersConfiguration = false

    package init(target: String) { self.target = target }

    /// Nothing that they need is missing any more, or known to be damaged: a repair takes back what was said of those
    /// that are whole. What a drill found of the database itself only a drill takes back.
    package var foundEarlier: [Version] {
      whole.filter { version in version.foundDamaged.map { !DrillProof.isOfImage($0) } ?? false }
    }
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Parameter databases: only these; all when empty.
  package func run(at target: TargetAccess, databases: [String], _ reading: Reading) async throws -> Outcome {
    do {
      var target = target
      target.store = ReadOnlyStore(target.store)
      let repository = try await target.open(
        with: try await target.unlock(), world, lackingFile: true, isReading: true)
      let report = try await report(
        of: repository, named: target.name, databases, reading.subset, suspects: [])
      let earlier = Set(await remember(report, reading.subset, repository, at: target.name).map(\.hex))
      var outcome = Outcome(report, target: target.name)
      outcome.lostWords = report.chains.compactMap(\.lostWords).map { OperationError($0, doing: target.name) }
      outcome.problems += outcome.lostWords
      if !outcome.lostWords.isEmpty { outcome.isSound = false }
      outcome.harmedEarlier = outcome.whole.filter { version in version.id.map(earlier.contains) ?? false }
      outcome.lacksConfiguration = repository.lacksConfiguration
      outcome.remembersConfiguration = repository.remembersConfiguration
      return outcome
    } catch {
      throw OperationError(error, doing: "checking \(target.name)")
    }
  }

  /// What a check of an opened repository says.
  func report(
    of repository: Repository, named target: String, _ databases: [String], _ subset: CheckSubset?,
    suspects: Set<Digest>
  ) async throws -> CheckReport {
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    let done = Counter()
    let report = try await RepositoryCheck(
      repository, state: state, tables: world.tables, subset: subset, suspects: suspects
    ).run(databases: databases) { [reporter = world.reporter] count in
      reporter.progress(Progress(.checking, subject: target, bytesDone: done.add(count), bytesTotal: nil))
    }
    let lost = LostMemory(of: target, world.reporter)
    for chain in report.chains { lost.tellFlaw(ofMarkOf: chain.chain, in: state) }
    return report
  }
}

extension CheckRepository.Reading {
  fileprivate var subset: CheckSubset? {
    switch self {
    case .structure: nil
    case .all: .all
    case .share(let share): .share(share)
    case .part(let part, let count): .part(part, of: count)
    case .bytes(let bytes): .bytes(bytes)
    }
  }
}

extension CheckRepository.Outcome {
  init(_ report: CheckReport, target: String) {
    self.init(target: target)
    findings = report.allFindings.map(CheckRepository.Finding.init)
    for chain in report.chains {
      problems += chain.problems.map { OperationError($0, doing: target) }
      harmed += chain.harmed.map { CheckRepository.Version($0, in: chain) }
      whole += chain.whole.map { CheckRepository.Version($0, in: chain) }
      unjudged += chain.unjudged.map { CheckRepository.Version($0, in: chain) }
      forgotten += chain.forgotten
      packs += chain.packs
      packsRead += chain.packsRead
      bytesRead += chain.bytesRead
      unreferenced += chain.unreferenced
      if chain.lacksManifests, chain.unreferenced > 0 {
        bareChains += 1
        barePacks += chain.unreferenced
      }
      unreferencedBytes = [unreferencedBytes, chain.unreferencedBytes].clampedSum
    }
    unknown = report.unknown
    isSound = report.isSound
    isJudged = report.isJudged
  }
}

extension CheckRepository.Finding {
  init(_ finding: CheckFinding) {
    self.init(
      object: finding.object, kind: finding.kind.rawValue, what: finding.what, hint: finding.hint,
      isDamage: finding.isDamage, leavesDoubt: finding.leavesDoubt)
  }
}

extension CheckRepository.Version {
  init(_ version: CheckedVersion, in chain: CheckedChain) {
    let facts = version.facts?.version
    self.init(
      id: version.id?.hex, database: facts?.database ?? chain.database, host: facts?.host ?? chain.host,
      sequence: version.sequence, time: facts?.time, objects: version.isUnjudged ? version.later : version.objects,
      damaged: facts?.flags.contains(.damaged), foundDamaged: version.id.flatMap { chain.foundDamaged[$0] },
      sparesDatabase: version.sparesDatabase)
  }
}
