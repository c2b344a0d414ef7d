import Glibc

// The protocol's model: every interleaving of small instances, searched to the end.
//
//   ProtocolModel [--full] [--limit STATES] [--trace] [NAME…]
//
// A safe variant that loses, or a mutant that does not, makes the exit status 1. NAME (`S4`, `M`) chooses variants by the
// beginning of their names; --trace tells each loss step by step.

var isFull = false
var tellsTraces = false
var limit = 4_000_000_000
var chosen: [String] = []
var arguments = CommandLine.arguments.dropFirst()[...]
while let argument = arguments.popFirst() {
  switch argument {
  case "--full": isFull = true
  case "--trace": tellsTraces = true
  case "--limit": limit = arguments.popFirst().flatMap(Int.init) ?? limit
  case let name where !name.hasPrefix("-"): chosen.append(name)
  default:
    print("usage: ProtocolModel [--full] [--limit STATES] [--trace] [NAME…]")
    exit(2)
  }
}

func isChosen(_ name: String) -> Bool {
  chosen.isEmpty || chosen.contains { name.hasPrefix("\($0) ") || ($0.count == 1 && name.hasPrefix($0)) }
}

func padded(_ text: String, _ width: Int, left: Bool = false) -> String {
  let blanks = String(repeating: " ", count: max(0, width - text.count))
  return left ? blanks + text : text + blanks
}

setvbuf(stdout, nil, _IOLBF, 0)
let began = monotonicSeconds()
var wrong = 0
var states = 0
let variants = Variant.short + (isFull || !chosen.isEmpty ? Variant.large : []) + Variant.mutants
for variant in variants where isChosen(variant.name) {
  var finding = variant.search(limit, !variant.isSafe)
  // The trace of what should not be is wanted most of all.
  if variant.isSafe, finding.complaint != nil { finding = variant.search(limit, true) }
  let isRight = variant.isSafe ? finding.complaint == nil && !finding.wasCut : finding.complaint != nil
  if !isRight { wrong += 1 }
  states += finding.states
  let outcome = finding.complaint != nil ? "LOSS in \(finding.depth)" : finding.wasCut ? "CUT" : "safe"
  print(
    isRight ? "ok   " : "WRONG", padded(variant.name, 88), padded(outcome, 11), padded("\(finding.states)", 11, left: true),
    "states", padded("\(finding.transitions)", 12, left: true), "steps  depth", padded("\(finding.depth)", 2, left: true),
    " \((finding.seconds * 10).rounded() / 10) s")
  if let complaint = finding.complaint, tellsTraces || variant.isSafe {
    for (index, words) in finding.trace.enumerated() { print("      \(padded("\(index + 1)", 2, left: true)) \(words)") }
    print("         \(complaint)")
  }
}
print("\(states) states, \(((monotonicSeconds() - began) * 10).rounded() / 10) s, \(wrong) wrong")
exit(wrong == 0 ? 0 : 1)
