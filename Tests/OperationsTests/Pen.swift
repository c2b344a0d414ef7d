import FoundationEssentials
import Glibc
import Operations
import TestKit
import Testing

/// Where databases of the zoo are pushed and pulled, and compared.
struct Pen {
  let road: Road

  init() async throws { road = try await Road() }

  /// By both methods: what SQLite's shell writes of the restored database is what it writes of the source, rowids
  /// included; and a page copy is the source page for page, with free pages as zeros.
  /// - Parameters:
  ///   - needsPages: it cannot be vacuumed.
  ///   - question: a query whose answer must be the same too, where the shell cuts what it writes: at a NUL.
  func prove(_ path: String, _ what: String, needsPages: Bool, question: String = "SELECT 1") async throws {
    let merged = try MergedDatabase(path)
    let expected = try await shell(merged.path, question)
    let before = try SourceBytes(path)
    for method in [DatabaseSource.Method.vacuum, .pages] {
      let name = "\(path.split(separator: "/").last ?? "")-\(method)"
      let outcome = try await road.push(DatabaseSource(name: name, path: path, method: method))
      #expect(outcome.failures.isEmpty && outcome.damage == nil, "\(what)")
      let version = try #require(outcome.pushed.first, "\(what)").version
      #expect(version.method == (needsPages ? "pages" : method.rawValue), "\(what)")
      let restored = road.scratch.file("restored")
      _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(restored))
      defer { for ending in ["", "-wal", "-shm", "-journal"] { unlink(restored + ending) } }
      if version.method == "pages" { try comparePages(fileBytes(restored), merged.normalised(), what) }
      let dump = try await shell(restored, question)
      // A vacuum writes the schema in another order: tables, indexes, then all that has no pages of its own.
      let isSame = dump == expected || version.method == "vacuum" && lines(of: dump) == lines(of: expected)
      #expect(isSame, "\(what) by \(method)")
    }
    #expect(try SourceBytes(path) == before, "\(what) must stay as it was")
  }

  private func lines(of dump: String) -> [Substring] {
    dump.split(separator: "\n", omittingEmptySubsequences: false).sorted()
  }

  private func comparePages(_ copy: [UInt8], _ expected: [UInt8], _ what: String) {
    let field = Int(expected[16]) << 8 | Int(expected[17])
    let size = field == 1 ? 65_536 : field
    #expect(copy.count == expected.count, "\(what)")
    guard copy != expected else { return }
    let differing = stride(from: 0, to: min(copy.count, expected.count), by: size).filter {
      copy[$0..<min($0 + size, copy.count)] != expected[$0..<min($0 + size, expected.count)]
    }
    Issue.record("\(what): pages \(differing.map { $0 / size + 1 }) differ")
  }

  private func shell(_ path: String, _ question: String) async throws -> String {
    let result = try await Child.run(["sqlite3", path, ".dump --preserve-rowids", question])
    guard result.isSuccess, result.output.contains("\nCOMMIT;\n") else {
      throw DumpError(text: "\(result.status) \(result.error) \(result.output.suffix(200))")
    }
    return result.output
  }
}

/// A copy of a database in which its -wal is merged into the file, made without touching the source.
struct MergedDatabase {
  private let scratch: Scratch
  let path: String

  init(_ source: String) throws {
    scratch = try Scratch()
    path = scratch.file("merged.db")
    for (ending, bytes) in try SourceBytes(source).files where ending != "-journal" {
      try writeFile(path + ending, bytes)
    }
    let database = try TestDatabase(path)
    _ = try database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    database.closeKeepingWal()
    bytes = try fileBytes(path)
  }

  private let bytes: [UInt8]

  /// As a page copy must be: free leaf pages, and what lies behind the list in a trunk page, are zeros. Written from
  /// SQLite's file format alone.
  func normalised() -> [UInt8] {
    var image = bytes
    func number(_ offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    func clear(_ range: Range<Int>) { for index in range { image[index] = 0 } }
    let field = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = field == 1 ? 65_536 : field
    var trunk = number(32)
    while trunk != 0 {
      let start = (trunk - 1) * size
      let leaves = number(start + 4)
      for leaf in 0..<leaves {
        let page = (number(start + 8 + 4 * leaf) - 1) * size
        clear(page..<page + size)
      }
      clear(start + 8 + 4 * leaves..<start + size)
      trunk = number(start)
    }
    return image
  }
}
