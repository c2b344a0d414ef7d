import Glibc

/// The protocol's model: every interleaving of small instances, searched to the end.
///
///     ProtocolModel [--full] [--limit STATES] [--trace] [NAME…]
///
/// A safe variant that loses, or a mutant that does not, makes the exit status 1. NAME (`S4`, `M`) chooses variants by the
/// beginning of their names; `--trace` tells each loss step by step.
@main struct ModelCampaign {
  private var isFull = false
  private var tellsTraces = false
  private var limit = 4_000_000_000
  private var chosen: [String] = []
  private var wrong = 0
  private var states = 0

  static func main() {
    var campaign = ModelCampaign()
    guard campaign.parse(CommandLine.arguments.dropFirst()) else {
      print("usage: ProtocolModel [--full] [--limit STATES] [--trace] [NAME…]")
      exit(2)
    }
    exit(campaign.run() ? 0 : 1)
  }

  private mutating func parse(_ arguments: ArraySlice<String>) -> Bool {
    var arguments = arguments
    while let argument = arguments.popFirst() {
      switch argument {
      case "--full": isFull = true
      case "--trace": tellsTraces = true
      case "--limit":
        guard let states = arguments.popFirst().flatMap({ Int($0) }) else { return false }
        limit = states
      case let name where !name.hasPrefix("-"): chosen.append(name)
      default: return false
      }
    }
    return true
  }

  private mutating func run() -> Bool {
    let began = monotonicSeconds()
    let all = Variant.short + (isFull || !chosen.isEmpty ? Variant.large : []) + Variant.mutants
    for variant in all where isChosen(variant.name) { search(variant) }
    print("\(states) states, \(rounded(monotonicSeconds() - began)) s, \(wrong) wrong")
    return wrong == 0
  }

  private func isChosen(_ name: String) -> Bool {
    chosen.isEmpty || chosen.contains { name.hasPrefix("\($0) ") || ($0.count == 1 && name.hasPrefix($0)) }
  }

  private mutating func search(_ variant: Variant) {
    var finding = variant.search(limit, !variant.isSafe)
    // The way to what should not be is wanted most of all.
    if variant.isSafe, finding.complaint != nil { finding = variant.search(limit, true) }
    let isRight = variant.isSafe ? finding.complaint == nil && !finding.wasCut : finding.complaint != nil
    if !isRight { wrong += 1 }
    states += finding.states
    let outcome = finding.complaint != nil ? "LOSS in \(finding.depth)" : finding.wasCut ? "CUT" : "safe"
    print(
      isRight ? "ok   " : "WRONG", padded(variant.name, 92), padded(outcome, 10), leading("\(finding.states)", 10),
      "states", leading("\(finding.transitions)", 11), "steps  depth", leading("\(finding.depth)", 2),
      " \(rounded(finding.seconds)) s")
    if let complaint = finding.complaint, tellsTraces || variant.isSafe {
      for (index, words) in finding.trace.enumerated() { print("      \(leading("\(index + 1)", 2)) \(words)") }
      print("         \(complaint)")
    }
    fflush(nil)
  }

  private func rounded(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func leading(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
