/// Files that belong to a database, as the configuration names them: a file, a folder with all in it, or a link.
package struct Companion: Sendable, Equatable {
  /// Absolute, or relative to the folder that the database lies in.
  package var path: String
  /// What of a folder is left out; see `ExcludePatterns`.
  package var exclude: [String]

  package init(_ path: String, exclude: [String] = []) {
    self.path = path
    self.exclude = exclude
  }

  var isAbsolute: Bool { path.hasPrefix("/") }
  var components: [String] { MemberPath.components(path).filter { $0 != "." } }

  /// The path inside a version: a relative one as it is, of an absolute one the last component.
  package var memberPath: String {
    isAbsolute ? components.last ?? "" : components.joined(separator: "/")
  }

  /// What is wrong with these companions of a database, said after "'companions' "; `nil` when nothing is.
  package static func mistake(in companions: [Companion], of databasePath: String) -> String? {
    let database = MemberPath.components(databasePath).last ?? ""
    var known: [String] = []
    for companion in companions {
      let member = companion.memberPath
      guard !companion.components.isEmpty, !companion.path.utf8.contains(0), !companion.components.contains("..") else {
        return "has '\(companion.path)', which is no path without '..' to something beside the database"
      }
      guard member != database, !SideFiles.endings.contains(where: { member == database + $0 }) else {
        return "has '\(companion.path)', which is the database itself"
      }
      if let other = known.first(where: {
        MemberPath.isSameOrAbove($0, member) || MemberPath.isAbove(member, $0)
      }) {
        return "would keep two as '\(other)': '\(member)' is the same, or lies in it"
      }
      if let pattern = companion.exclude.first(where: { ExcludePatterns.isMistaken($0) }) {
        return "excludes '\(pattern)', which is no relative pattern"
      }
      known.append(member)
    }
    return nil
  }
}

extension DatabaseSource {
  /// - Throws: `.usage`.
  func demandFittingCompanions() throws {
    guard let mistake = Companion.mistake(in: companions, of: path) else { return }
    throw OperationError(
      .usage, code: "badCompanions", "'companions' of '\(name)' \(mistake)",
      hint: "Name files and folders beside the database, or absolute paths with different last components.")
  }
}
