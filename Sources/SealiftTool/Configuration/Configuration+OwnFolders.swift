import Sealift

extension Configuration {
  /// Folders of this machine that repositories and bases lie in.
  /// - Parameter asked: targets of the command line.
  func ownFolders(_ asked: [String] = []) -> [OwnFolder] {
    let others = asked.compactMap { try? target($0) }.filter { one in !targets.contains { $0.name == one.name } }
    let repositories = (targets + others).compactMap { settings -> OwnFolder? in
      guard case .folder(let path) = settings.place else { return nil }
      return OwnFolder.repository(of: settings.name, at: path)
    }
    let bases = databases.compactMap { settings -> OwnFolder? in
      settings.source.baseFolder.map { OwnFolder.bases(of: settings.source.name, at: $0) }
    }
    return repositories + bases
  }
}
