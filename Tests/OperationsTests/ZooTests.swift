import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations
@testable import Snapshots

/// Every kind of database through push and pull, by both methods: 37 chosen kinds, 208 generated ones (48 of them by
/// `swift test` alone), and what real programs have made on this machine. What SQLite's own shell says of it must be the
/// same afterwards, and of a page copy every page.
@Suite struct ZooTests {
  /// Eight of them share a repository.
  private static let herds = 26
  private static let chosenHerds = Environment.isWhole ? herds : 6

  @Test(arguments: 0..<chosenHerds) func `generated databases come back`(_ herd: Int) async throws {
    let pen = try await Pen()
    for number in herd * 8..<herd * 8 + 8 {
      let animal = GeneratedDatabase(number)
      let path = pen.road.scratch.file("\(number).db")
      try animal.make(at: path)
      try await pen.prove(path, "\(animal)", needsPages: animal.needsPages, question: GeneratedDatabase.question)
      Fault.zoo.met("generated")
    }
  }

  @Test(arguments: SampleDatabase.allCases) func `each kind that people have comes back`(_ kind: SampleDatabase)
    async throws
  {
    let pen = try await Pen()
    let path = pen.road.scratch.file("\(kind).db")
    try kind.make(at: path)
    try await pen.prove(path, "\(kind)", needsPages: kind.needsApplicationCode)
    Fault.zoo.met("chosen kind")
  }

  @Test(arguments: [
    "with space.db", "it's.db", "say \"hi\".db", "line\nbreak.db", "what?mode=memory", "100%41#.db", ":memory:",
    "ünïcode 數據 🦭.db", "-dash.db", "a;b&c.db", ".hidden", "no extension",
  ])
  func `whatever its name`(_ name: String) async throws {
    let pen = try await Pen()
    let path = pen.road.scratch.file(name)
    try GeneratedDatabase(77).make(at: path)
    try await pen.prove(path, name, needsPages: false)
    Fault.zoo.met("odd name")
  }

  @Test func `the generated ones are of every kind`() {
    let all = (0..<Self.herds * 8).map(GeneratedDatabase.init)
    #expect(all.count >= 200)
    #expect(Set(all.map(\.pageSize)) == Set((0..<8).map { 512 << $0 }))
    #expect(Set(all.map(\.encoding)).count == 3 && Set(all.map(\.autoVacuum)).count == 3)
    #expect(Set(all.map(\.journal)).count == 4 && Set(all.map(\.reserved)).count == 6)
    #expect(all.count { $0.isLegacy } > 0)
    for feature in DatabaseFeature.allCases {
      #expect(all.count { $0.features.contains(feature) } >= 4, "\(feature)")
    }
  }

  // MARK: explicit refusals

  /// What is refused, each with its code: nothing else is, and nothing is taken that should be.
  private static let refusals: [(what: String, code: String, make: @Sendable (String) throws -> Void)] = [
    ("nothing there", "missing", { _ in }),
    ("a folder", "isDirectory", { mkdir($0, 0o755) }),
    ("zero bytes", "empty", { try writeFile($0, []) }),
    ("one byte", "notADatabase", { try writeFile($0, [7]) }),
    ("only the magic", "notADatabase", { try writeFile($0, Array("SQLite format 3\0".utf8)) }),
    ("text", "notADatabase", { try writeFile($0, Array(String(repeating: "a line\n", count: 600).utf8)) }),
    ("zeros", "notADatabase", { try writeFile($0, [UInt8](repeating: 0, count: 4096)) }),
    ("a picture", "notADatabase", { try writeFile($0, [0x89, 0x50, 0x4e, 0x47] + [UInt8](repeating: 1, count: 900)) }),
    ("encrypted", "encrypted", { try writeFile($0, randomBytes(8192)) }),
    (
      "encrypted behind its header", "encrypted",
      {
        try GeneratedDatabase(3).make(at: $0)
        try writeFile($0, fileBytes($0).prefix(32) + randomBytes(8160))
      }
    ),
    (
      "Realm", "otherFormat",
      {
        try writeFile($0, [UInt8](repeating: 0, count: 16) + Array("T-DB".utf8) + [UInt8](repeating: 0, count: 4076))
      }
    ),
    (
      "DuckDB", "otherFormat",
      {
        try writeFile($0, [UInt8](repeating: 0, count: 8) + Array("DUCK".utf8) + [UInt8](repeating: 0, count: 4084))
      }
    ),
    ("a -wal", "otherFormat", { try writeFile($0, [0x37, 0x7f, 0x06, 0x82] + [UInt8](repeating: 0, count: 5000)) }),
    ("gzip", "otherFormat", { try writeFile($0, [0x1f, 0x8b, 8] + randomBytes(509)) }),
    ("an SQL text", "otherFormat", { try writeFile($0, Array("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n".utf8)) }),
    (
      "an XML file of something else", "otherFormat", { try writeFile($0, Array("<?xml version=\"1.0\"?><svg/>".utf8)) }
    ),
    (
      "LevelDB", "otherFormat",
      {
        mkdir($0, 0o755)
        for name in ["CURRENT", "MANIFEST-000001"] { try writeFile("\($0)/\(name)", [1]) }
      }
    ),
    (
      "a header that makes no sense", "damaged",
      {
        try GeneratedDatabase(3).make(at: $0)
        var bytes = try fileBytes($0)
        bytes.replaceSubrange(16..<18, with: [3, 7])
        try writeFile($0, bytes)
      }
    ),
    ("a hot journal", "hotJournal", { try leaveHotJournal(at: $0) }),
  ]

  @Test func `what is refused is refused by name, and nothing is stored`() async throws {
    let road = try await Road()
    let before = road.store.content
    for (number, refusal) in Self.refusals.enumerated() {
      let path = road.scratch.file("refused-\(number)")
      try refusal.make(path)
      for method in [DatabaseSource.Method.vacuum, .pages] {
        let error = await #expect(throws: OperationError.self, "\(refusal.what)") {
          try await road.push(DatabaseSource(name: "app", path: path, method: method))
        }
        #expect(
          error?.kind == .sourceUnreadable && error?.code == refusal.code, "\(refusal.what): \(error?.code ?? "")")
        Fault.zoo.met("refused")
        #expect(error?.message.contains(path) == true, "\(refusal.what)")
      }
    }
    #expect(road.store.content == before)
  }

  // MARK: damage

  /// What is damaged and can be copied is stored as it is, and flagged.
  private static let damages: [(what: String, damage: @Sendable (inout [UInt8]) -> Void)] = [
    ("a page of another kind", { $0[$0.count / 512 * 256] ^= 0xff }),
    ("the last pages are gone", { $0.removeLast(1024) }),
    ("rubbish in the middle", { $0.replaceSubrange(2048..<2560, with: randomBytes(512)) }),
    ("page 2 is zeros", { $0.replaceSubrange(512..<1024, with: [UInt8](repeating: 0, count: 512)) }),
  ]

  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `what is damaged is stored as it is, and said`(_ method: DatabaseSource.Method) async throws {
    for (number, one) in Self.damages.enumerated() {
      let road = try await Road()
      let path = road.scratch.file("damaged-\(number).db")
      try SampleDatabase.page512.make(at: path)
      var bytes = try fileBytes(path)
      one.damage(&bytes)
      try writeFile(path, bytes)
      let outcome = try await road.push(DatabaseSource(name: "app", path: path, method: method))
      #expect(outcome.damage?.kind == .verificationFailed, "\(one.what)")
      let version = try #require(outcome.pushed.first, "\(one.what)").version
      #expect(version.damaged && version.method == "pages")
      let restored = road.scratch.file("restored.db")
      _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(restored))
      #expect(try fileBytes(restored) == bytes, "\(one.what)")
      Fault.zoo.met("damaged")
    }
  }

  // MARK: what real programs made

  @Test(arguments: RealDatabase.allCases.filter { $0.isMade || RealDatabase.mustBe })
  func `what a real program made comes back`(_ real: RealDatabase) async throws {
    let pen = try await Pen()
    let paths = try await real.make(in: pen.road.scratch)
    #expect(!paths.isEmpty)
    // Some say CHECK: by who may not write to them they are copied page by page.
    for path in paths { try await pen.prove(path, path, needsPages: access(path, W_OK) != 0) }
    Fault.zoo.met(paths.count, "of a real program")
  }
}

private func randomBytes(_ count: Int) -> [UInt8] {
  var random = SeededRandom(UInt64(count))
  return random.bytes(count)
}

/// A journal as a writer that died in the middle of its transaction leaves it.
extension ZooTests {
  @Test func `a dry run rolls no transaction back`() async throws {
    let road = try await Road()
    let path = road.scratch.file("app.db")
    try leaveHotJournal(at: path)
    let before = [try fileBytes(path), try fileBytes(path + "-journal")]
    var database = DatabaseSource(name: "app", path: path)
    database.allowRecovery = true
    var request = Push.Request(database: database, targets: [road.target])
    request.dryRun = true
    let refused = await #expect(throws: OperationError.self) { try await Push(road.world).run(request) }
    #expect(refused?.code == "hotJournal" && refused?.hint?.contains("a dry run leaves it") == true)
    #expect(try [fileBytes(path), fileBytes(path + "-journal")] == before)
    request.dryRun = false
    #expect(try await Push(road.world).run(request).failures.isEmpty)
    #expect(access(path + "-journal", F_OK) != 0)
  }
}

private func leaveHotJournal(at path: String) throws {
  try SampleDatabase.rollback.make(at: path)
  try leaveHotJournal(of: "UPDATE people SET name = name || 'x'", at: path)
}
