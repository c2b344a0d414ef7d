/// Which module may know which: the directions of `Docs/Design.md`. SwiftPM holds a target to its dependencies only
/// when it is built alone, so a test holds it to them.
enum Fences {
  /// Each folder of `Sources` that holds Swift, and the modules it may import besides the system's.
  static let allowed: [String: Set<String>] = [
    "Platform": ["Darwin", "Musl", "CLinux"],
    "Snapshots": ["Platform", "CSQLite"],
    "Sealing": ["COpenSSL", "CZstd"],
    "Storage": [],
    "Backends": ["Platform", "Storage", "CCurl", "CExpat", "COpenSSL"],
    "Repositories": ["Sealing", "Storage"],
    "Operations": ["Platform", "Snapshots", "Repositories", "Sealing", "Storage", "CLinux"],
    "Sealift": ["Operations", "Snapshots", "Backends", "Storage"],
    "SealiftTool": ["Sealift", "ArgumentParser", "Logging"],
  ]

  /// Folders of `Sources` that only describe a system library.
  static let systemLibraries: Set<String> = ["CSQLite", "COpenSSL", "CZstd", "CCurl", "CExpat", "CLinux"]

  /// Full Foundation is not among them: it makes the program four times as big.
  private static let system: Set<String> = ["Glibc", "FoundationEssentials", "Synchronization"]

  /// The imports of a file, given by its path from the root, that it must not have.
  static func forbiddenImports(of source: SourceText, at path: String) -> [String] {
    let parts = path.split(separator: "/")
    guard parts.count > 2, let own = allowed[String(parts[1])] else { return source.imports }
    var permitted = own.union(system)
    // Bytes in, bytes out: nothing that could open a file or ask for the time.
    if parts[1] == "Sealing" { permitted.remove("FoundationEssentials") }
    // Both are to be built on other systems than Linux as well.
    if ["Snapshots", "Sealing"].contains(parts[1]) { permitted.remove("Glibc") }
    // A backend needs OpenSSL for the signature of S3 requests, and to begin it before libcurl does; for nothing else.
    let needing = ["Sources/Backends/S3/Signature", "Sources/Backends/HTTP/CurlSetUp.swift"]
    if parts[1] == "Backends", !needing.contains(where: path.hasPrefix) { permitted.remove("COpenSSL") }
    return source.imports.filter { !permitted.contains($0) }
  }

  /// The calls in a file that only the command line may make.
  static func forbiddenCalls(of source: SourceText, at path: String) -> [String] {
    path.hasPrefix("Sources/SealiftTool/") ? [] : source.printsAndExits
  }
}
