import Glibc
import Storage

/// Many seeded worlds, one after the other.
///
///     Simulator [--seeds COUNT] [--first SEED] [--seed SEED] [--trace] [--twice]
///
/// A seed that breaks a promise is named, told step by step when it is run alone with `--trace`, and makes the exit
/// status 1. `--twice` runs each seed two times and compares what happened.
@main struct SimulationCampaign {
  private var first: UInt64 = 1
  private var count: UInt64 = 100
  private var isTold = false
  private var runsTwice = false
  private var digest: UInt64 = 0
  private var tally = Tally()
  private var broken: [UInt64] = []

  static func main() throws {
    var campaign = SimulationCampaign()
    guard campaign.parse(CommandLine.arguments.dropFirst()) else {
      print("usage: Simulator [--seeds COUNT] [--first SEED] [--seed SEED] [--trace] [--twice]")
      exit(2)
    }
    // Dictionaries must have the same order in every process, or a seed would not be one.
    guard getenv("SWIFT_DETERMINISTIC_HASHING") != nil else {
      setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
      execv("/proc/self/exe", CommandLine.unsafeArgv)
      exit(71)
    }
    guard Loop.shared.takeOver() else {
      print("Simulator: this Swift runtime lets nobody take its executor's place")
      exit(70)
    }
    exit(try campaign.run() ? 0 : 1)
  }

  private mutating func parse(_ arguments: ArraySlice<String>) -> Bool {
    var arguments = arguments
    while let argument = arguments.popFirst() {
      switch argument {
      case "--trace": isTold = true
      case "--twice": runsTwice = true
      case "--seeds", "--first", "--seed":
        guard let number = arguments.popFirst().flatMap({ UInt64($0) }) else { return false }
        if argument == "--seeds" { count = number } else { first = number }
        if argument == "--seed" { count = 1 }
      default: return false
      }
    }
    return true
  }

  private mutating func run() throws -> Bool {
    let root = "\(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")/sealift-simulator-\(getpid())"
    mkdir(root, 0o700)
    defer { Folders.remove(root) }
    let stem = try Stem.make(root: root)
    for seed in first..<first + count {
      let hash = simulate(seed, stem, root)
      if runsTwice, simulate(seed, stem, root) != hash {
        print("seed \(seed): two runs differ")
        broken.append(seed)
      }
      digest = (digest ^ hash) &* 0x0000_0100_0000_01B3
    }
    print("\(count) seeds from \(first): \(tally.words)")
    print("\(broken.count) broken, trace \(String(digest, radix: 16))")
    return broken.isEmpty
  }

  private mutating func simulate(_ seed: UInt64, _ stem: [ObjectName: [UInt8]], _ root: String) -> UInt64 {
    let folder = "\(root)/\(seed)"
    mkdir(folder, 0o700)
    defer { Folders.remove(folder) }
    let simulation = Simulation(seed: seed, stem: stem, root: folder, isTold: isTold)
    do { try simulation.run() } catch {
      broken.append(seed)
      print("seed \(seed), step \(simulation.tally.steps): \(simulation.violation ?? "\(error)")")
      fflush(nil)
    }
    tally = tally + simulation.tally
    return simulation.trace.hash
  }
}
