import Repositories
import Sealing

/// How what was captured is read when it is sealed.
extension CompanionCapture {
  func source(
    _ entry: CompanionEntry, _ file: HeldFiles.Held?, _ neighbour: SideFileNeighbour?
  ) -> CompanionSource {
    let content: CompanionSource.Content
    switch entry.kind {
    case .folder: content = .folder
    case .link(let target): content = .link(target: target)
    case .file:
      let root = roots[entry.root]
      content = .file { [hooks, events] in
        let path = entry.path
        events.beginReading(path)
        if let file { return try CapturedFile(file, path: path, hooks, events, beside: neighbour) }
        guard neighbour?.isOfHeldDatabase ?? true else {
          events.note(.vanished, path)
          return nil
        }
        return try root.open(path, events).map { try CapturedFile($0, path: path, hooks, events, beside: neighbour) }
      }
    }
    return CompanionSource(
      path: entry.path, mode: entry.status.mode, modified: entry.status.modifiedMilliseconds, content: content)
  }

  /// Absolute.
  func folderPath(of entry: CompanionEntry) -> String {
    let root = roots[entry.root]
    return ([root.folder] + root.realComponents(of: entry.path).dropLast()).joined(separator: "/")
  }
}
