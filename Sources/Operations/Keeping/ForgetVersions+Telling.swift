import Repositories
import Sealing
import Storage

/// What a person may have mistyped, or has asked for before.
extension ForgetVersions {
  /// What was forgotten before is told, and stands in no plan.
  /// - Returns: what is left to be done; `nil`: nothing.
  func wish(of chosen: Chosen, at target: String) -> Wish? {
    guard case .gone(let ids) = chosen.wish else { return chosen.wish }
    let history = chosen.history
    let before = Set(history.versions.filter { history.isForgotten($0) }.map(\.id.hex)).intersection(ids)
    for id in before.sorted() {
      world.reporter.notice("\(target): version \(id.prefix(12)) was forgotten before, and waits for a prune")
    }
    let left = ids.subtracting(before)
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
