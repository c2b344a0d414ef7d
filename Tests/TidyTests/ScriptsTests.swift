import Glibc
import TestKit
import Testing

/// Scripts have no compiler; this is what stands in for one.
@Suite struct ScriptsTests {
  /// Everything that is run; a `.bash` file is sourced by others and not run itself.
  static let commands: [String] = {
    let scripts = (try? SourceTree.files(below: "Scripts")) ?? []
    return scripts.filter { !$0.hasSuffix(".bash") } + [".ci/run"]
  }()

  static let bash: [String] = {
    let sourced = (try? SourceTree.files(below: "Scripts", suffix: ".bash")) ?? []
    return sourced + commands.filter { (try? SourceTree.text($0))?.hasPrefix("#!/bin/bash\n") == true }
  }()

  /// With a name that ends so or not.
  static let python: [String] = commands.filter { path in
    let first = (try? SourceTree.text(path))?.prefix { $0 != "\n" } ?? ""
    return path.hasSuffix(".py") || first.hasPrefix("#!") && first.contains("python3")
  }

  @Test func `the scripts that people are told of are there`() {
    let expected = ["format", "install-packages", "quickstart", "servers", "test"].map { "Scripts/\($0)" }
    #expect(Set(expected).isSubset(of: Self.commands))
    #expect(Set(expected).isSubset(of: Self.bash))
  }

  @Test(arguments: commands)
  func `a script can be run and says by what`(path: String) throws {
    #expect(access("\(SourceTree.root)/\(path)", X_OK) == 0, "\(path) is not executable")
    #expect(try SourceTree.text(path).hasPrefix("#!/"), "\(path) does not begin with #!")
  }

  @Test(arguments: bash)
  func `bash understands it`(path: String) async throws {
    let check = try await Child.run(["bash", "-n", "\(SourceTree.root)/\(path)"])
    #expect(check.isSuccess, "\(check.error)")
  }

  @Test(arguments: python)
  func `python understands it`(path: String) async throws {
    let check = try await Child.run([
      "python3", "-c", "import sys; compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec')",
      "\(SourceTree.root)/\(path)",
    ])
    #expect(check.isSuccess, "\(check.error)")
  }

  /// All of it but what needs root and watches the clock; that is `Scripts/bench.d/selftest.py` without `--quick`.
  @Test func `the measurement measures what has a known size`() async throws {
    let check = try await Child.run([
      "python3", "-B", "\(SourceTree.root)/Scripts/bench.d/selftest.py", "--quick",
    ])
    #expect(check.isSuccess, "\(check.output) \(check.error)")
  }

  @Test func `the campaigns see what they look for`() async throws {
    let check = try await Child.run(["python3", "\(SourceTree.root)/Scripts/campaigns/common/selftest.py"])
    #expect(check.isSuccess, "\(check.output) \(check.error)")
  }

  /// What a CI run does is what a person can do, to the letter.
  @Test func `the CI entry calls Scripts test and nothing else`() throws {
    let lines = try SourceTree.text(".ci/run").split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines.count == 1)
    #expect(lines.first?.hasSuffix("/Scripts/test\"") == true)
  }

  /// A check that is taken out of the source must still be found there; that tests miss it is `Scripts/campaigns/mutants`.
  @Test func `the mutants of our own checks are where they were`() async throws {
    let check = try await Child.run(["python3", "\(SourceTree.root)/Scripts/campaigns/mutants", "--check"])
    #expect(check.isSuccess, "\(check.error)")
  }
}
