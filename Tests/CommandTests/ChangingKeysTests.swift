import TestKit
import Testing

/// The lines that `Docs/Operating.md` gives for another passphrase, as they stand there: two targets open with one file.
@Suite struct ChangingKeysTests {
  @Test func `every target opens with the new passphrase before the old one is gone`() async throws {
    let text = String(decoding: try fileBytes("\(SourceTree.root)/Docs/Operating.md"), as: UTF8.self)
    let heading = try #require(text.firstRange(of: "## Changing keys\n\n```sh\n"))
    let end = try #require(text[heading.upperBound...].firstRange(of: "```"))
    let lines = text[heading.upperBound..<end.lowerBound].split(separator: "\n")
    #expect(lines.contains { $0.contains("key remove") })

    let program = try Program()
    let folder = program.file("etc")
    try program.write("#!/bin/sh\nexec '\(Program.path)' --config '\(program.file("c.json"))' \"$@\"\n", to: "run")
    let targets = ["nas", "bucket"].map { name in
      #""\#(name)": {"url": "file://\#(program.file(name))", "passphraseFile": "\#(folder)/passphrase"}"#
    }
    try program.write("{\"targets\": {\(targets.joined(separator: ", "))}}", to: "c.json")
    let script = lines.filter { !$0.contains("key remove") && !$0.hasPrefix("rm ") }.joined(separator: "\n")
      .replacing("/etc/sealift", with: folder).replacing("sealift --target", with: "sh run --target")
    let ending = try await program.shell(
      """
      set -e
      umask 077
      mkdir etc
      echo old > etc/passphrase
      echo new > etc/passphrase.new
      sh run init
      \(script)
      """)
    #expect(ending.status == 0, "\(ending.error)")
    #expect(ending.output.matches(of: #/in use now/#).count == 2)
    for name in ["nas", "bucket"] {
      let listed = try await program("--config", "c.json", "--target", name, "--json", "key", "list")
      #expect(listed.status == 0)
    }
    #expect(String(decoding: try fileBytes("\(folder)/passphrase"), as: UTF8.self) == "new\n")
    #expect(String(decoding: try fileBytes("\(folder)/passphrase.old"), as: UTF8.self) == "old\n")
  }
}
