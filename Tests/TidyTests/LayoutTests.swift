import Glibc
import TestKit
import Testing

/// The top of the package is its table of contents: a new entry is a decision, not an accident.
@Suite struct LayoutTests {
  static let required: Set<String> = ["Package.swift", "Sources", "Tests", "Scripts", "LICENSE"]
  static let welcome: Set<String> = ["Docs", "Examples", "README.md", "config.example.json"]
  /// SwiftPM's own, which is not kept in the repository.
  static let generated: Set<String> = ["Package.resolved"]

  @Test func `the top level holds what it should and nothing else`() async throws {
    let all = try await Self.tracked(in: SourceTree.root) ?? Set(SourceTree.entries(in: ""))
    let entries = all.filter { !$0.hasPrefix(".") }
    #expect(Self.required.subtracting(entries).isEmpty)
    #expect(entries.subtracting(Self.required).subtracting(Self.welcome).subtracting(Self.generated).isEmpty)
  }

  @Test func `what git does not track is no part of the package`() async throws {
    let scratch = try Scratch()
    #expect(try await Self.tracked(in: scratch.path) == nil)
    for name in ["Package.swift", "notes.txt"] { try writeFile(scratch.file(name), []) }
    for words in [["init", "--quiet"], ["add", "Package.swift"]] {
      let ended = try await Child.run(["git", "-C", scratch.path] + words)
      #expect(ended.isSuccess, "\(ended.error)")
    }
    #expect(try await Self.tracked(in: scratch.path) == ["Package.swift"])
  }

  /// What git tracks at the top of a folder: somebody's own notes beside it are no fault of the package. `nil` where
  /// there is no git, or no repository, as in an archive.
  private static func tracked(in root: String) async throws -> Set<String>? {
    guard access("\(root)/.git", F_OK) == 0,
      let listed = try? await Child.run(["git", "-C", root, "ls-files", "-z"]),
      listed.isSuccess, !listed.output.isEmpty
    else { return nil }
    return Set(listed.output.split(separator: "\0").map { path in String(path.prefix { $0 != "/" }) })
  }

  @Test func `the license is the whole Apache License 2.0`() throws {
    let license = try SourceTree.text("LICENSE")
    #expect(license.contains("Apache License\n                           Version 2.0, January 2004"))
    #expect(license.contains("END OF TERMS AND CONDITIONS"))
    #expect(license.utf8.count > 11_000)
  }

  @Test func `nothing is left for later in the sources`() throws {
    let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]
    let folders = ["Sources", "Tests", "Examples/NoteServer/Sources", "Examples/NoteServer/Tests"]
    let sources = try folders.flatMap { try SourceTree.files(below: $0, suffix: ".swift") }
    for path in try sources + SourceTree.files(below: "Scripts") {
      let text = try SourceTree.text(path)
      for word in words { #expect(text.firstMatch(of: try Regex("\\b\(word)\\b")) == nil, "\(path) says \(word)") }
    }
  }
}
