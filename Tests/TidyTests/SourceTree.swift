import FoundationEssentials

/// The files of this package, found from where this file was compiled.
enum SourceTree {
  /// The folder that holds Package.swift, without a slash at its end.
  static let root: String = {
    let here = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return here.dropLast(3).joined(separator: "/")
  }()

  /// The names in a folder, given from the root (`""` is the root itself), sorted.
  static func entries(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)").sorted()
  }

  /// The paths, from the root, of all files below a folder whose name ends with `suffix`, sorted.
  /// What Python leaves beside its sources is passed over.
  static func files(below folder: String, suffix: String = "") throws -> [String] {
    var found: [String] = []
    for name in try entries(in: folder) where name != "__pycache__" {
      let path = "\(folder)/\(name)"
      if isFolder(path) {
        found += try files(below: path, suffix: suffix)
      } else if name.hasSuffix(suffix) {
        found.append(path)
      }
    }
    return found
  }

  static func isFolder(_ path: String) -> Bool {
    var isFolder = false
    return FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder) && isFolder
  }

  /// The content of a file, given from the root.
  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
  }
}
