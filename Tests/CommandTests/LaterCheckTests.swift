import TestKit
import Testing

/// What a later program wrote, met by `check` and `repair`: a status of its own kind, and a line that says what to do.
@Suite struct LaterCheckTests {
  private struct Checked: Decodable {
    struct Target: Decodable {
      var sound: Bool
      var judged: Bool
      var objects: [Object]
      var wholeVersions: [Version]
      var unjudgedVersions: [Version]
    }
    struct Object: Decodable {
      var object: String
      var kind: String
      var damage: Bool
      var hint: String?
    }
    struct Version: Decodable { var sequence: Int }
    var targets: [Target]
  }

  /// Stores the newest version's manifest once more, one place behind it and in a format that nobody knows here.
  /// - Returns: its name.
  private func plant(_ home: Home) async throws -> String {
    let manifest = try #require(home.program.files(below: "target").first { $0.hasPrefix("versions/") })
    var bytes = try home.bytes("target/\(manifest)")
    bytes[8] += 1
    try writeFile(home.program.file("later"), bytes)
    let sum = try await home.program.start("sha256sum", ["later"]).output.prefix(64)
    let folder = manifest.split(separator: "/").dropLast().joined(separator: "/")
    let name = "\(folder)/000000000002-0000-\(bytes.count)-\(sum)"
    try writeFile(home.program.file("target/\(name)"), bytes)
    return name
  }

  @Test func `without damage both end with 3, and a repair stores nothing`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    let name = try await plant(home)
    let files = Set(home.program.files(below: "target"))

    let told = try await home("check")
    #expect(told.status == 3 && told.error.contains("of a later format"))
    #expect(told.error.contains("hint: Install a newer sealift."))
    #expect(told.output.contains("  LATER  \(name)\n") && told.output.contains("  NOT JUDGED  number 2 of 'app'\n"))
    #expect(told.output.contains("1 version whole, 0 harmed, 1 not judged"))

    let document = try await home("check", "--json")
    #expect(document.status == 3)
    #expect(try document.errorDocument().code == "unsupported")
    let target = try #require(try decoded(Checked.self, document.output).targets.first)
    #expect(target.sound && !target.judged)
    #expect(target.objects.map(\.object) == [name] && target.objects.map(\.kind) == ["later"])
    #expect(target.objects.allSatisfy { !$0.damage && $0.hint != nil })
    #expect(target.wholeVersions.map(\.sequence) == [1] && target.unjudgedVersions.map(\.sequence) == [2])

    let repaired = try await home("repair")
    #expect(repaired.status == 3 && repaired.output.contains("  LATER  \(name): "))
    #expect(Set(home.program.files(below: "target")) == files)
  }

  @Test func `damage beside it is worse`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    _ = try await plant(home)
    let slot = try #require(home.program.files(below: "target").first { $0.hasPrefix("keys/2-") })
    try writeFile(home.program.file("target/\(slot)"), [1])
    let document = try await home("check", "--json")
    #expect(document.status == 13)
    #expect(try document.errorDocument().code == "damageFound")
    // Once that is mended, the doubt is left.
    #expect(try await home("repair").status == 3)
    #expect(try await home("check").status == 3)
  }
}
