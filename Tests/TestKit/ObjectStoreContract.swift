package import Storage

/// What every store must pass: all promises of the contract that `sealift doctor` runs too.
/// - Returns: the promises that were not kept, each with what was seen; empty when all is well.
package func brokenPromises(of store: any ObjectStore, in folder: String = "contract") async -> [String] {
  let findings = await StoreContract.run(on: store, in: folder)
  guard findings.count == StoreContract.promiseCount + 1 || findings.contains(where: \.isBroken) else {
    return ["only \(findings.count) promises were tried"]
  }
  return findings.compactMap { finding in
    if case .broken(let seen) = finding.verdict { "\(finding.promise): \(seen)" } else { nil }
  }
}
