/// Where the project lies, for tests that look at its files or run its scripts.
package enum SourceTree {
  /// The folder of Package.swift.
  package static let root: String = {
    let components = #filePath.split(separator: "/")
    return "/" + components.dropLast(3).joined(separator: "/")
  }()
}
