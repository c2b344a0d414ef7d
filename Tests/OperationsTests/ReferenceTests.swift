import FoundationEssentials
import Operations
import Storage
import TestKit
import Testing

@testable import Sealing

/// The program against a decoder and an encoder that were written from Docs/Format.md alone, in another language.
///
/// They need an interpreter with `cryptography` and `zstandard`: Scripts/test names one in SEALIFT_PYTHON.
@Suite(.enabled(if: Reference.python != nil)) struct ReferenceTests {
  @Test func `what another encoder wrote is listed and comes back`() async throws {
    let reference = try Reference()
    try await reference.python(
      "\(SourceTree.root)/Tests/ReferenceTests/make_repository.py", reference.scratch.file("made"), "--cheap-scrypt")
    let expected = try JSONDecoder().decode(
      Expected.self, from: Data(contentsOf: URL(fileURLWithPath: reference.scratch.file("made/expected.json"))))
    let store = MemoryStore()
    try reference.load("made/repository", into: store)
    let world = reference.world
    for secret in [
      UnlockSecret.passphrase(Array(expected.passphrase.utf8)), .recoveryKey(expected.recoveryKey),
      .keyFile([UInt8](try Data(contentsOf: URL(fileURLWithPath: reference.scratch.file("made/\(expected.keyFile)"))))),
    ] {
      let target = TargetAccess(name: "made", store: store, unlock: { secret })
      let list = try await ListVersions(world).run(at: target)
      #expect(list.problems.isEmpty, "\(list.problems)")
      #expect(Set(list.versions.map(\.id)) == Set(expected.versions.filter { !$0.forgotten }.map(\.id)))
    }
    let target = TargetAccess(name: "made", store: store, unlock: { .passphrase(Array(expected.passphrase.utf8)) })
    let list = try await ListVersions(world).run(at: target)
    for version in expected.versions {
      let path = reference.scratch.file("out-\(version.id.prefix(12))")
      let pulled = try await Pull(world).run(.id(prefix: version.id), from: target, to: .file(path))
      #expect(pulled.version.sha256 == version.sha256)
      let bytes = try fileBytes(path)
      #expect(bytes.count == version.size && Digest.sha256(of: bytes).hex == version.sha256)
      #expect((pulled.companionsFolder != nil) == (version.members.count > 1))
      for member in version.members.dropFirst() where member.type == 2 {
        let companion = try fileBytes("\(path).companions/\(member.path)")
        #expect(companion.count == member.size && Digest.sha256(of: companion).hex == member.sha256, "\(member.path)")
      }
      guard let listed = list.versions.first(where: { $0.id == version.id }) else { continue }
      #expect(listed.tags.sorted() == version.tags.sorted())
      #expect(listed.note == version.note)
      #expect(listed.time == version.milliseconds)
    }
    for (database, id) in expected.latest {
      #expect(try await ListVersions(world).show(.latest(database: database), at: target).summary.id == id)
    }
  }

  @Test func `the other decoder refuses what the format forbids`() async throws {
    _ = try await Reference().python("\(SourceTree.root)/Tests/ReferenceTests/unseal_test.py")
  }

  @Test func `the other decoder reads every vector, or refuses it, as it says`() async throws {
    _ = try await Reference().python("\(SourceTree.root)/Tests/ReferenceTests/vector_test.py")
  }

  /// A prefix must be the same bytes for all who make its form; so three makers of it meet thousands of pages, most of
  /// them damaged.
  @Test func `three programs take pages apart in the same way`() async throws {
    let reference = try Reference()
    let path = reference.scratch.file("forms")
    try await reference.python("\(SourceTree.root)/Tests/ReferenceTests/cell_forms.py", path)
    var forms = ArraySlice(try fileBytes(path))
    func take(_ count: Int) -> [UInt8] {
      defer { forms = forms.dropFirst(count) }
      return Array(forms.prefix(count))
    }
    func number() -> Int { take(4).reduce(0) { $0 << 8 | Int($1) } }
    var compared = 0
    var encoder = CellFormEncoder()
    var decoder = CellFormDecoder()
    while !forms.isEmpty {
      let (size, count, length) = (number(), number(), number())
      let (pages, expected) = (take(size * count), take(length))
      pages.withUnsafeBytes { _ = encoder.encode($0, pageSize: size) }
      #expect(Array(encoder.form) == expected, "pages \(compared) of \(size) bytes")
      var again = [UInt8](repeating: 0xDB, count: size * count)
      try expected.withUnsafeBytes { form in
        try again.withUnsafeMutableBytes { try decoder.decode(form, pages: count, pageSize: size, into: $0) }
      }
      #expect(again == pages)
      compared += 1
    }
    #expect(compared > 2000)
  }

  @Test func `what the program wrote is listed and restored by another decoder`() async throws {
    let reference = try Reference()
    let road = try await Road()
    let source = try road.database(rows: 400)
    let tagged = DatabaseSource(name: "app", path: source, tags: ["nightly", "pur\u{E9}e"])
    let first = try await road.push(tagged).pushed[0].version
    // It looks alike, and other bytes are stored.
    _ = try await AnnotateVersions(road.world).run(
      .tags(add: [], remove: ["pure\u{301}e"]), of: .id(prefix: first.id), at: road.target)
    try await road.change(source)
    let second = try await road.push(DatabaseSource(name: "app", path: source, method: .pages)).pushed[0].version
    _ = try await road.push(DatabaseSource(name: "proj", path: "/usr/share/proj/proj.db"))
    try reference.save(road.store, as: "written")
    let key = reference.scratch.file("key")
    try Data([UInt8](repeating: 3, count: 64)).write(to: URL(fileURLWithPath: key))
    let unseal = ["\(SourceTree.root)/Scripts/unseal.py", reference.scratch.file("written"), "--key-file", key]
    let list = try await reference.python(unseal + ["list"])
    #expect(list.contains(second.id.prefix(8)))
    #expect(list.contains("nightly"))
    #expect(!list.contains("pur"), "\(list)")
    for (version, original) in [(second.id, source), ("proj:latest", "/usr/share/proj/proj.db")] {
      let out = reference.scratch.file("restored-\(version.prefix(6))")
      _ = try await reference.python(unseal + ["restore", version, "-o", out])
      #expect(try await dump(out) == dump(original))
    }
    _ = try await reference.python(unseal + ["check"])
  }

  @Test(arguments: 0..<3 as Range<UInt64>) func `companions, and files kept as they are, come back by another decoder`(
    seed: UInt64
  ) async throws {
    let reference = try Reference()
    let road = try await Road()
    var tree = RandomTree(seed)
    _ = try tree.make(in: road.scratch.file("att"))
    let before = try FolderPicture(road.scratch.file("att"))
    var source = DatabaseSource(name: "app", path: try road.database(rows: 40))
    source.companions = [Companion("att")]
    var random = SeededRandom(seed)
    let opaque = road.scratch.file("opaque")
    try writeFile(opaque, random.bytes(200_000 + Int(seed) * 65_536))
    for database in [source, DatabaseSource(name: "opaque", path: opaque, method: .file)] {
      let outcome = try await road.push(database)
      #expect(outcome.failures.isEmpty && outcome.shortfalls.isEmpty)
    }
    try reference.save(road.store, as: "written")
    let key = reference.scratch.file("key")
    try writeFile(key, [UInt8](repeating: 3, count: 64))
    let unseal = ["\(SourceTree.root)/Scripts/unseal.py", reference.scratch.file("written"), "--key-file", key]
    let (app, file) = (reference.scratch.file("app.db"), reference.scratch.file("file"))
    try await reference.python(unseal + ["restore", "app:latest", "-o", app])
    try await reference.python(unseal + ["restore", "opaque:latest", "-o", file])
    #expect(try await dump(app) == dump(source.path))
    #expect(try FolderPicture("\(app).companions/att") == before)
    #expect(try fileBytes(file) == fileBytes(opaque))
    try await reference.python(unseal + ["check"])
  }
}

/// A scratch folder, the repository's root, and the interpreter.
struct Reference {
  static let python = Environment.value("SEALIFT_PYTHON")
  let scratch: Scratch
  let world: World

  init() throws {
    scratch = try Scratch()
    world = World(stateFolder: scratch.file("state"), host: "reader", now: { 0 }, reporter: Notices())
  }

  @discardableResult
  func python(_ arguments: [String]) async throws -> String {
    let result = try await Child.run([Self.python ?? "/usr/bin/python3"] + arguments)
    guard result.isSuccess else { throw DumpError(text: result.error) }
    return result.output
  }

  @discardableResult
  func python(_ arguments: String...) async throws -> String { try await python(arguments) }

  func load(_ folder: String, into store: MemoryStore) throws {
    let root = scratch.file(folder)
    for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
      guard let name = ObjectName(path), let bytes = try? Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)"))
      else { continue }
      store.content[name] = [UInt8](bytes)
    }
  }

  func save(_ store: MemoryStore, as folder: String) throws {
    for (name, bytes) in store.content {
      let path = "\(scratch.file(folder))/\(name)"
      let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
      try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
  }
}

/// What Tests/ReferenceTests/make_repository.py says a reader must find.
private struct Expected: Decodable {
  struct Member: Decodable {
    let type: Int
    let path: String
    let size: Int?
    let sha256: String?
  }
  struct Version: Decodable {
    let id: String
    let milliseconds: UInt64
    let size: Int
    let sha256: String
    let members: [Member]
    let tags: [String]
    let note: String
    let forgotten: Bool
  }
  let passphrase: String
  let recoveryKey: String
  let keyFile: String
  let latest: [String: String]
  let versions: [Version]
}
