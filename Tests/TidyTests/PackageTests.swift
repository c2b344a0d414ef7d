import Testing

/// What Package.swift says of the targets.
@Suite struct PackageTests {
  @Test func `a target names every module of ours beneath it`() throws {
    let named = Self.dependencies(in: try SourceTree.text("Package.swift"))
    #expect(named.count > 15)
    for (target, direct) in named {
      let beneath = direct.reduce(into: Set<String>()) { $0.formUnion(named[$1] ?? []) }
      let missing = beneath.subtracting(direct).intersection(named.keys).sorted()
      #expect(missing.isEmpty, "\(target) must name \(missing.joined(separator: ", ")) in Package.swift")
    }
  }

  @Test func `the product names what its module does`() throws {
    let text = try SourceTree.text("Package.swift")
    let product = try #require(text.firstMatch(of: #/\.library\(\s*name: "Sealift",\s*targets: \[([^\]]*)\]/#))
    let named = try #require(Self.dependencies(in: text)["Sealift"])
    #expect(Self.words(in: product.output.1) == named.union(["Sealift"]))
  }

  @Test func `targets are read whatever the order of their lines`() {
    let text = """
      .systemLibrary(name: "CZstd"),
      .target(name: "A", swiftSettings: house),
      .target(name: "B", dependencies: ["A", "CZstd"], swiftSettings: house),
      .testTarget(
        name: "C",
        dependencies: [
          "B", .product(name: "Logging", package: "swift-log"),
        ], path: "Tests/C"),
      """
    #expect(Self.dependencies(in: text) == ["A": [], "B": ["A", "CZstd"], "C": ["B"]])
  }

  /// Each Swift target, and the targets of this package that it names.
  private static func dependencies(in package: String) -> [String: Set<String>] {
    let start = #/\.(?:target|executableTarget|testTarget)\(\s*name: "(\w+)"/#
    let list = #/,\s*dependencies: \[([^\]]*)\]/#
    return package.matches(of: start).reduce(into: [:]) { found, target in
      let rest = package[target.range.upperBound...]
      found[String(target.output.1)] = rest.prefixMatch(of: list).map { words(in: $0.output.1) } ?? []
    }
  }

  /// The words in quotation marks, without those that belong to a product of another package.
  private static func words(in list: Substring) -> Set<String> {
    Set(list.replacing(#/\.product\([^)]*\)/#, with: "").matches(of: #/"(\w+)"/#).map { String($0.output.1) })
  }
}
