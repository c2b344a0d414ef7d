import Glibc

/// Something with states and steps, to be searched.
protocol Model {
  /// Numbers without gaps between them, a multiple of 8 bytes in all.
  associatedtype State: BitwiseCopyable

  var start: State { get }
  func forEachSuccessor(of state: State, _ body: (State, Step) -> Void)
  /// What is wrong with a state, or `nil`.
  func complaint(about state: State) -> String?
  /// The one state that stands for all that are alike.
  func canonical(_ state: State) -> State
}

extension Model {
  func canonical(_ state: State) -> State { state }
}

/// What a search came to.
struct Finding {
  var states = 0
  var transitions = 0
  /// Steps to the farthest state, or to the complaint.
  var depth = 0
  var seconds = 0.0
  var complaint: String?
  /// The shortest way to it, in words.
  var trace: [String] = []
  /// There were more states than allowed: nothing is proved.
  var wasCut = false
}

/// Breadth first through every state, so that the first complaint is a nearest one.
///
/// States that were seen are known by 128 bits of hash: among 10^9 states the chance that two are taken for one is below 10^-20.
struct Search<Searched: Model> {
  let model: Searched
  var limit = 4_000_000_000
  /// Remembers for each state how it was reached, 5 bytes each, so that a complaint can be told step by step.
  var keepsTrace = true

  func run() -> Finding {
    let began = monotonicSeconds()
    var finding = Finding()
    var seen = FingerprintSet()
    var links = Links()
    var frontier = [model.canonical(model.start)]
    seen.insert(Fingerprint(of: frontier[0]))
    finding.states = 1
    if let complaint = model.complaint(about: frontier[0]) { return Finding(states: 1, complaint: complaint) }
    var firstOfFrontier = 0
    while !frontier.isEmpty, finding.complaint == nil, !finding.wasCut {
      var next: [Searched.State] = []
      for (offset, state) in frontier.enumerated() {
        var ordinal = 0
        model.forEachSuccessor(of: state) { raw, _ in
          defer { ordinal += 1 }
          finding.transitions += 1
          guard finding.complaint == nil else { return }
          let reached = model.canonical(raw)
          guard seen.insert(Fingerprint(of: reached)) else { return }
          finding.states += 1
          next.append(reached)
          if keepsTrace { links.add(parent: firstOfFrontier + offset, ordinal: ordinal) }
          finding.complaint = model.complaint(about: reached)
        }
        if finding.complaint != nil { break }
        if finding.states > limit {
          finding.wasCut = true
          break
        }
      }
      firstOfFrontier += frontier.count
      frontier = next
      if !next.isEmpty { finding.depth += 1 }
    }
    if finding.complaint != nil, keepsTrace { finding.trace = words(for: links.wayToLast()) }
    finding.seconds = monotonicSeconds() - began
    return finding
  }

  /// Walks the way once more, to say what happens on it.
  private func words(for way: [Int]) -> [String] {
    var state = model.canonical(model.start)
    return way.map { wanted in
      var ordinal = 0
      var reached = state
      var text = ""
      model.forEachSuccessor(of: state) { next, step in
        if ordinal == wanted { (reached, text) = (next, step.description) }
        ordinal += 1
      }
      state = model.canonical(reached)
      return text
    }
  }
}

/// How each state was reached, in the order in which they were found; the start has none.
private struct Links {
  private var parents: [UInt32] = []
  private var ordinals: [UInt8] = []

  mutating func add(parent: Int, ordinal: Int) {
    precondition(ordinal < 256, "a state has too many successors")
    parents.append(UInt32(parent))
    ordinals.append(UInt8(ordinal))
  }

  /// Ordinals of the successors that lead from the start to the state found last.
  func wayToLast() -> [Int] {
    var way: [Int] = []
    var state = parents.count
    while state > 0 {
      way.append(Int(ordinals[state - 1]))
      state = Int(parents[state - 1])
    }
    return way.reversed()
  }
}

func monotonicSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
