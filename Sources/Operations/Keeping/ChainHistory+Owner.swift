import Repositories
import Sealing
import Storage

extension ChainHistory {
  /// All versions of a chain are of one database of one host.
  var database: String? { newest?.version?.database }
  var host: String? { newest?.version?.host }

  /// Manifests are there, and not one of them can be read that says whose they are.
  var isNameless: Bool { newest?.version == nil && !unreadable.isEmpty }

  /// Of whom it is, and what is lost of it, nothing says.
  var nameless: OperationError {
    OperationError(
      .verificationFailed, code: "damaged",
      "no manifest of chain \(chain.hex.prefix(12)) can be read: \(problems.first?.message ?? "")",
      hint:
        "`sealift repair` where its database is saves what can be had, and pushes it afresh; what came before can be given up then."
    )
  }
}

extension [ChainHistory] {
  /// What a person named and is not there, with the hosts that have it.
  /// - Parameters:
  ///   - databases: all when empty.
  ///   - host: `nil`: this one.
  func lack(of databases: [String], host: String?) -> RepositoryError {
    let names = databases.map { "'\($0)'" }.joined(separator: ", ")
    let what = databases.isEmpty ? "versions" : "versions of \(names)"
    guard let host else {
      return RepositoryError(
        .noSuchVersion, "this host has no \(what) there",
        hint: "`sealift list` shows what there is; --all-hosts takes in what other hosts pushed.")
    }
    let have = compactMap { history in history.newest?.version.map { ChainOwner($0) } }.having(databases)
    return RepositoryError(
      .noSuchVersion, "host \(host) has no \(what) there\(have)", hint: "`sealift list` shows what there is.")
  }
}

extension [ChainOwner] {
  /// Which hosts have databases of these names, or any where there are none: the end of a sentence.
  func having(_ databases: [String]) -> String {
    let others = filter { databases.isEmpty || databases.containsName($0.database) }
    let hosts = Set(others.map { ExactName($0.host) }).sorted().map(\.text)
    return hosts.isEmpty ? "" : "; \(hosts.joined(separator: ", ")) \(hosts.count == 1 ? "has" : "have") some"
  }
}
