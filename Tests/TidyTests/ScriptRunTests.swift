import Glibc
import TestKit
import Testing

/// Scripts as they run. What they would call of the machine are functions of the shell here, which every script that it
/// starts inherits: nothing is installed, built or measured.
@Suite struct ScriptRunTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Runs lines of bash: `$1` is the package, `$2` a folder of the test's own, and what follows `arguments`.
  private func bash(_ lines: String, _ arguments: String...) async throws -> ProgramEnd {
    try await Child.run(["bash", "-euc", lines, "bash", SourceTree.root, scratch.path] + arguments)
  }

  // MARK: Scripts/install-packages

  @Test(arguments: [("5.10.1", false), ("6.2.3", false), ("6.3", true), ("6.10-dev", true), ("7.0", true)])
  func `an older Swift than the tests need is refused`(release: String, isFine: Bool) async throws {
    let ended = try await bash(
      """
      export RELEASE=$3
      swift() { echo "Swift version $RELEASE (swift-$RELEASE-RELEASE)"; }
      dpkg-query() { echo installed; }
      export -f swift dpkg-query
      exec "$1/Scripts/install-packages" build
      """, release)
    #expect(ended.isSuccess == isFine, "\(ended.error)")
    #expect(isFine || ended.error.contains("install Swift 6.3 or newer"))
    #expect(try SourceTree.text("README.md").contains("Swift 6.3 or newer"))
  }
}
