import Glibc
import Platform
import Storage

extension Restore {
  /// Where the links of a path lead: a linked database is replaced where it is, and the link stays.
  static func realPlace(of path: String) throws -> String {
    // The system would take what stands before it for the whole path.
    guard !path.utf8.contains(0) else {
      throw OperationError(.usage, code: "noFile", "a zero byte is in the path \(path)", hint: "Name a database file.")
    }
    try OperationError.demandOwnLinks(on: path)
    var status = stat()
    guard lstat(path, &status) == 0 else {
      // Nothing is there: then the folder has to be.
      let folder = PathSteps.folder(of: path)
      guard let real = realPath(folder) else { throw RestoredFile.noFolder(folder) }
      let name = MemberPath.components(path).last ?? ""
      return real == "/" ? "/\(name)" : "\(real)/\(name)"
    }
    guard let real = realPath(path) else {
      // Where a restore that was killed has moved away what the link leads to, the next one goes on.
      if let gone = endOfLinks(path), case .inBetween = ReplaceIntent(database: gone).state { return gone }
      throw OperationError(
        .usage, code: "brokenLink", "\(path) is a link that leads nowhere",
        hint: "Make what it leads to, or remove the link.")
    }
    guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw OperationError(.usage, code: "noFile", "\(path) is not a file", hint: "Name a database file.")
    }
    return real
  }

  /// Where a link leads at whose end nothing is; `nil` where there is not even a folder.
  private static func endOfLinks(_ path: String) -> String? {
    var at = path
    for _ in 0..<40 {
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(at, &buffer, buffer.count)
      guard count > 0 else { break }
      let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      at = target.hasPrefix("/") ? target : "\(PathSteps.folder(of: at))/\(target)"
    }
    guard let folder = realPath(PathSteps.folder(of: at)), let name = MemberPath.components(at).last else {
      return nil
    }
    return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }
}
