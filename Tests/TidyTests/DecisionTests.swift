import Testing

/// Who reads what a decision made so is led to it: else it is undone by somebody who never heard of it.
@Suite struct DecisionTests {
  @Test func `each decision is cited by a file that is not it`() throws {
    let decisions = try SourceTree.entries(in: "Docs/Decisions").map { String($0.prefix(4)) }
    let cited = try Self.cited()
    #expect(decisions.count > 35)
    #expect(Set(decisions).count == decisions.count, "two decisions have one number")
    #expect(Set(decisions).subtracting(cited).sorted() == [])
    #expect(cited.subtracting(decisions).sorted() == [], "cited, and not there")
  }

  /// The numbers that sources, tests and documents name. One decision that names another leads nobody to either.
  private static func cited() throws -> Set<String> {
    let sources = try ["Sources", "Tests"].flatMap { try SourceTree.files(below: $0, suffix: ".swift") }
    let documents = try SourceTree.files(below: "Docs", suffix: ".md").filter { !$0.hasPrefix("Docs/Decisions/") }
    return try (sources + documents + ["README.md"]).reduce(into: []) { found, path in
      for citation in try SourceTree.text(path).matches(of: #/Decisions/(\d{4})/#) {
        found.insert(String(citation.output.1))
      }
    }
  }
}
