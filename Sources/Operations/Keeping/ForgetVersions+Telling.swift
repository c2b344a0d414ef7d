import Repositories
import Sealing
import Storage

/// What a person may have mistyped, or has asked for before.
extension ForgetVersions {
  /// What was forgotten before is told, and stands in no plan.
  /// - Parameter chosen: of a chain that is in no doubt.
  /// - Returns: what is left to be done; `nil`: nothing.
  /// - Throws: for an annotation that cannot be read: it may be a pin.
  func wish(of chosen: Chosen, _ lookup: VersionLookup, _ plan: inout Plan) async throws -> Wish? {
    guard case .gone(let ids) = chosen.wish else { return chosen.wish }
    let history = chosen.history
    let before = history.all.filter { ids.contains($0.id.hex) && history.isForgotten($0) }
    guard !before.isEmpty else { return chosen.wish }
    let annotations = try await lookup.everyAnnotation(of: history)
    for version in before {
      // A pin that crossed the tombstone holds it: no prune takes that version.
      let what = annotations.isPinned(version) ? "stays because it is pinned" : "waits for a prune"
      world.reporter.notice("\(plan.target): version \(version.id.hex.prefix(12)) was forgotten before, and \(what)")
    }
    plan.forgottenBefore += before.count
    let left = ids.subtracting(before.map(\.id.hex))
    return left.isEmpty ? nil : .gone(left)
  }

  /// A tag that is mistyped on the line keeps nothing. One in the configuration may be for versions to come, and what is left
  /// alone may have it.
  func tellAbsentTags(_ request: Request, _ plan: Plan) {
    guard case .rulesForAll(let rules) = request.choice, plan.refusals.isEmpty, !plan.chains.isEmpty else { return }
    let names = Set(plan.chains.map { ExactName($0.database) }).sorted().map { "'\($0.text)'" }
    let databases = names.count <= Self.mostNamed ? names.joined(separator: ", ") : "these \(names.count) databases"
    let tags = plan.chains.flatMap(\.versions).flatMap(\.tags)
    for tag in rules.tags where !tags.contains(tag) {
      world.reporter.notice("\(plan.target): no version of \(databases) has the tag '\(tag)'")
    }
  }
}
