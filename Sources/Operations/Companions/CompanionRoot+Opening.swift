import Glibc
import Repositories
import Sealing

extension CompanionRoot {
  /// Below `folder`, of what is called `path` inside the version.
  func realComponents(of path: String) -> [String] {
    if let last = components.last, let ending = ReadTogether.telling.first(where: { path == memberPath + $0 }) {
      return components.dropLast() + [last + ending]
    }
    return components + MemberPath.components(of: path, below: memberPath)
  }

  /// Opens a file that is not held, by its name. `nil` when it is gone, which is noted.
  func open(_ path: String, _ events: CaptureEvents) throws -> HeldFiles.Held? {
    let names = realComponents(of: path)
    guard let name = names.last, let parent = FolderHandle(path: folder)?.folder(names.dropLast()) else {
      events.note([ENOENT, ENOTDIR, ELOOP].contains(errno) ? .vanished : .unreadable, path)
      return nil
    }
    let descriptor = parent.file(name)
    guard descriptor >= 0 else {
      events.note([ENOENT, ELOOP, ENXIO].contains(errno) ? .vanished : .unreadable, path)
      return nil
    }
    let file = HeldFiles.Held(descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      events.note(.vanished, path)
      return nil
    }
    return file
  }
}
