import Repositories
import Sealing

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
