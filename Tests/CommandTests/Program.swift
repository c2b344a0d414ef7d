import FoundationEssentials
import Glibc
import TestKit
import Testing

/// The built program, run as a person runs it, with a home of its own.
struct Program {
  struct ErrorDocument: Decodable {
    struct Content: Decodable {
      var code: String
      var message: String
      var hint: String?
    }
    var error: Content
  }

  let scratch: Scratch
  var environment: [String: String]

  init() throws {
    scratch = try Scratch()
    try FileManager.default.createDirectory(atPath: scratch.file("home"), withIntermediateDirectories: false)
    environment = ["HOME": scratch.file("home"), "PATH": getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"]
  }

  static let path: String =
    TestKit.Environment.value("SEALIFT_BINARY")
    ?? CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
      separator: "/")
    + "/sealift"

  func callAsFunction(_ arguments: String...) async throws -> ProgramEnd { try await start(Self.path, arguments) }

  /// A command line for `/bin/sh`, in which `"$0"` is the program.
  func shell(_ line: String) async throws -> ProgramEnd { try await start("/bin/sh", ["-c", line, Self.path]) }

  func start(_ program: String, _ arguments: [String]) async throws -> ProgramEnd {
    try await Child.run(
      ["sh", "-c", #"cd "$1" && shift && exec "$@""#, "sh", scratch.path, program] + arguments,
      environment: environment)
  }

  // MARK: files

  func file(_ name: String) -> String { scratch.file(name) }

  @discardableResult
  func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
    try writeFile(file(name), Array(text.utf8))
    #expect(chmod(file(name), mode) == 0)
    return file(name)
  }

  func exists(_ name: String) -> Bool { access(file(name), F_OK) == 0 }

  /// Paths of all files below a folder, from it.
  func files(below name: String) -> [String] {
    let paths = (try? FileManager.default.subpathsOfDirectory(atPath: file(name))) ?? []
    return paths.filter { path in
      var status = stat()
      return stat(file("\(name)/\(path)"), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }
}

extension ProgramEnd {
  /// The line `{"error": …}` on standard error.
  func errorDocument() throws -> Program.ErrorDocument.Content {
    let line = try #require(error.split(separator: "\n").last)
    return try JSONDecoder().decode(Program.ErrorDocument.self, from: Array(line.utf8).asData).error
  }
}

extension [UInt8] {
  var asData: Data { Data(self) }
}

/// A document of `--json`, decoded.
func decoded<Document: Decodable>(_ type: Document.Type, _ text: String) throws -> Document {
  try JSONDecoder().decode(type, from: Array(text.utf8).asData)
}
