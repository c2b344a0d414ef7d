import FoundationEssentials
import TestKit
import Testing

/// Code in the documentation is code that was compiled: each example stands, word for word, in a file of `Examples`.
@Suite struct DocumentationTests {
  private static let library = "Sources/Sealift"
  private static let catalogue = "\(library)/Sealift.docc"

  private static func files(in folder: String, suffix: String) -> [String] {
    let found = (try? names(in: "\(SourceTree.root)/\(folder)")) ?? []
    return found.filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(SourceTree.root)/\(path)", encoding: .utf8)
  }

  static let pages = ["README.md"] + files(in: catalogue, suffix: ".md") + files(in: library, suffix: ".swift")

  @Test(arguments: pages)
  func `every example is compiled`(page: String) throws {
    let examples = try Self.files(in: "Tests/LibraryTests/Examples", suffix: ".swift").map(Self.text)
    for block in CodeBlocks(try Self.text(page)).blocks {
      #expect(examples.contains { CodeBlocks.contains($0, block) }, "not in Examples: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `there are examples in both kinds of pages`() throws {
    let counts = try Self.pages.map { (page: $0, count: CodeBlocks(try Self.text($0)).blocks.count) }
    #expect(counts.filter { $0.page.hasSuffix(".md") }.map(\.count).reduce(0, +) >= 9)
    #expect(counts.filter { $0.page.hasSuffix(".swift") }.map(\.count).reduce(0, +) >= 10)
  }

  /// Two SQLites in one process drop each other's locks on a file that both have open.
  @Test(arguments: [
    ("README.md", 1), ("Sources/Sealift/Sealift.docc/FiveMinutes.md", 2), ("Sources/Sealift/Snapshot+Options.swift", 1),
    ("Sources/Sealift/Repository+Restoring.swift", 1),
  ])
  func `whoever brings a SQLite of its own is warned`(page: String, times: Int) throws {
    let text = try Self.text(page)
    for name in ["SQLiteNIO", "Fluent", "SQLCipher"] {
      #expect(text.ranges(of: name).count >= times, "\(page) does not name \(name)")
    }
  }

  @Test func `what is read of the environment is said`() throws {
    let said = try Self.text("\(Self.catalogue)/Sealift.md")
    let read = try Self.pages.filter { $0.hasSuffix(".swift") }.flatMap { page in
      try Self.text(page).matches(of: #/getenv\("(\w+)"\)/#).map { String($0.output.1) }
    }
    #expect(!read.isEmpty)
    for name in read { #expect(said.contains(name), "the overview does not name \(name)") }
  }

  @Test func `blocks are found in articles and in comments`() {
    #expect(CodeBlocks("text\n```swift\nlet a = 1\n  b()\n```\nmore").blocks == [["let a = 1", "  b()"]])
    #expect(
      CodeBlocks("  /// text\n  /// ```swift\n  /// a {\n  ///   b()\n  /// }\n  /// ```\n").blocks == [
        ["a {", "  b()", "}"]
      ])
    #expect(CodeBlocks("```sh\nls\n```").blocks.isEmpty)
    #expect(CodeBlocks.contains("func f() {\n  a {\n    b()\n  }\n}", ["a {", "  b()", "}"]))
    #expect(!CodeBlocks.contains("func f() {\n  a {\n    c()\n  }\n}", ["a {", "  b()", "}"]))
    #expect(!CodeBlocks.contains("  a\n    b", ["a", "b"]))
  }
}

/// The Swift examples of a Markdown page, or of a source's documentation comments.
private struct CodeBlocks {
  private(set) var blocks: [[String]] = []

  init(_ text: String) {
    var block: [String]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(Self.withoutComment) {
      if line == "```swift" {
        block = []
      } else if line == "```" {
        if let block { blocks.append(block) }
        block = nil
      } else {
        block?.append(String(line))
      }
    }
  }

  private static func withoutComment(_ line: Substring) -> Substring {
    let start = line.drop { $0 == " " }
    guard start.hasPrefix("///") else { return line }
    let content = start.dropFirst(3)
    return content.hasPrefix(" ") ? content.dropFirst() : content
  }

  /// Whether the lines stand in a text one after the other, all moved in by the same number of spaces.
  static func contains(_ text: String, _ block: [String]) -> Bool {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = block.first, block.count <= lines.count else { return false }
    return (0...lines.count - block.count).contains { start in
      guard lines[start].hasSuffix(first) else { return false }
      let margin = String(lines[start].dropLast(first.count))
      guard margin.allSatisfy({ $0 == " " }) else { return false }
      return zip(lines[start...], block).allSatisfy { $0 == ($1.isEmpty ? "" : margin + $1) }
    }
  }
}
