import Testing

@Suite struct ImportTests {
  @Test func `every source imports only what its module may know`() throws {
    let sources = try SourceTree.files(below: "Sources", suffix: ".swift")
    #expect(sources.count > 3)
    for path in sources {
      let forbidden = Fences.forbiddenImports(of: SourceText(try SourceTree.text(path)), at: path)
      #expect(forbidden.isEmpty, "\(path) must not import \(forbidden.joined(separator: ", "))")
    }
  }

  @Test func `only the command line prints and exits`() throws {
    for path in try SourceTree.files(below: "Sources", suffix: ".swift") {
      let forbidden = Fences.forbiddenCalls(of: SourceText(try SourceTree.text(path)), at: path)
      #expect(forbidden.isEmpty, "\(path) must not call \(forbidden.joined(separator: ", "))")
    }
  }

  /// A mount that does not answer, which has nothing to do with us, would hang us.
  @Test func `nobody waits for all the disks of the machine`() throws {
    let call = #/(?:^|[^\w.]|Glibc\.)sync\s*\(\s*\)/#
    for path in try SourceTree.files(below: "Sources", suffix: ".swift") {
      let text = SourceText(try SourceTree.text(path))
      #expect(text.lines.allSatisfy { $0.firstMatch(of: call) == nil }, "\(path) must call syncfs")
    }
  }

  /// A child that another thread starts before `FD_CLOEXEC` is set keeps the descriptor open for as long as it lives.
  @Test func `no descriptor is anybody's for a moment`() throws {
    let call = #/(?:^|[^\w.]|Glibc\.|Platform\.)(?:pipe|dup)\s*\(/#
    for path in try SourceTree.files(below: "Sources", suffix: ".swift") {
      let text = SourceText(try SourceTree.text(path))
      #expect(
        text.lines.allSatisfy { $0.firstMatch(of: call) == nil },
        "\(path) must call PrivatePipe.make, or fcntl with F_DUPFD_CLOEXEC")
    }
  }

  /// Chains go by bytes, and Swift takes composed and decomposed letters for the same ones.
  @Test func `names of hosts and databases are compared by their bytes`() throws {
    let comparison = #/\.(?:host|database) (?:==|!=) (?!nil)|(?:==|!=) [\w.$?]*\.(?:host|database)\b/#
    let folders = ["Repositories", "Operations", "Sealift", "SealiftTool"].map { "Sources/\($0)" }
    for path in try folders.flatMap({ try SourceTree.files(below: $0, suffix: ".swift") }) {
      let text = SourceText(try SourceTree.text(path))
      #expect(
        text.lines.allSatisfy { $0.firstMatch(of: comparison) == nil }, "\(path) must call isSameName or looksLike")
    }
  }

  @Test func `the table names every module there is, and none else`() throws {
    let folders = try SourceTree.entries(in: "Sources").filter { SourceTree.isFolder("Sources/\($0)") }
    #expect(Set(folders) == Set(Fences.allowed.keys).union(Fences.systemLibraries))
  }

  @Test(arguments: [
    ("import Glibc", ["Glibc"]),
    ("package import Storage", ["Storage"]),
    ("internal import CCurl // for the easy handle", ["CCurl"]),
    ("@testable import Sealing", ["Sealing"]),
    ("@_spi(Experimental) @preconcurrency public import Foundation", ["Foundation"]),
    ("  import struct Foundation.Date", ["Foundation"]),
    ("import func Glibc.exit; import CZstd", ["Glibc", "CZstd"]),
    ("// import Foundation", []),
    ("let imported = importance", []),
    ("import\tCExpat", ["CExpat"]),
  ])
  func `an import is seen in every form`(line: String, modules: [String]) {
    #expect(SourceText(line).imports == modules)
  }

  @Test(arguments: [
    ("Sources/Storage/A.swift", "package import Sealing", ["Sealing"]),
    ("Sources/Operations/A.swift", "import Backends", ["Backends"]),
    ("Sources/Repositories/A.swift", "import Foundation", ["Foundation"]),
    ("Sources/Sealing/A.swift", "import FoundationEssentials", ["FoundationEssentials"]),
    ("Sources/Sealing/A.swift", "import Glibc", ["Glibc"]),
    ("Sources/Snapshots/A.swift", "import Glibc", ["Glibc"]),
    ("Sources/Snapshots/A.swift", "import Platform", []),
    ("Sources/Platform/A.swift", "@_exported public import Glibc", []),
    ("Sources/Backends/S3/S3Store.swift", "import COpenSSL", ["COpenSSL"]),
    ("Sources/Backends/HTTP/CurlLoop.swift", "import COpenSSL", ["COpenSSL"]),
    ("Sources/Backends/HTTP/CurlSetUp.swift", "import COpenSSL", []),
    ("Sources/Backends/S3/Signature.swift", "import COpenSSL", []),
    ("Sources/Backends/S3/SignatureKey.swift", "import COpenSSL", []),
    ("Sources/SealiftTool/A.swift", "import CSQLite", ["CSQLite"]),
    ("Sources/SealiftTool/A.swift", "import ArgumentParser", []),
    ("Sources/SealiftTool/A.swift", "import Operations", ["Operations"]),
    ("Sources/Sealift/A.swift", "@_exported public import Operations", []),
    ("Sources/Sealift/A.swift", "import CSQLite", ["CSQLite"]),
    ("Sources/Unknown/A.swift", "import Glibc", ["Glibc"]),
  ])
  func `a forbidden import is reported`(path: String, text: String, forbidden: [String]) {
    #expect(Fences.forbiddenImports(of: SourceText(text), at: path) == forbidden)
  }

  @Test(arguments: [
    ("print(\"text\")", ["print"]),
    ("if done { exit (0) }", ["exit"]),
    ("Glibc.exit(1)", ["exit"]),
    ("Swift.print(1); _exit(2)", ["print", "_exit"]),
    ("defer { debugPrint(self) }", ["debugPrint"]),
    ("report.print(line)", []),
    ("func exit(with code: Int) {}", []),
    ("let fingerprint = fingerprint(of: page)", []),
    ("// print(\"never\")", []),
  ])
  func `a print or an exit is seen`(line: String, calls: [String]) {
    #expect(Fences.forbiddenCalls(of: SourceText(line), at: "Sources/Storage/A.swift") == calls)
    #expect(Fences.forbiddenCalls(of: SourceText(line), at: "Sources/SealiftTool/A.swift").isEmpty)
  }
}
