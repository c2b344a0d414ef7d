import Glibc
import Repositories
import Sealing
import Storage

/// A version that stands at its destination already, as one does that was finished before the rest of `--all` was cut. A
/// file's name says nothing: every byte is looked at.
extension Pull {
  /// Whether nothing is left to do: the database is the version's to the byte, SQLite would apply nothing to it, and all
  /// that is to come with it stands where it would be put. What else lies there does not count, nor do modes and times.
  /// - Throws: `.usage`, code `destinationExists`, where the database stands there, and not all that comes with it.
  func stands(_ found: FoundVersion, at path: String, _ request: Restore.Request) throws -> Bool {
    // What was made over is not the version any more: nobody can tell whose it is.
    guard makeOver.isNothing, let content = found.manifest.core?.members.first?.file else { return false }
    guard SideFiles.present(of: path) == [""] else { return false }
    let folder = PathSteps.folder(of: path)
    guard let file = FolderHandle(path: folder)?.file(RestoredFile.name(of: path)) else { return false }
    guard try holds(file, content, of: found) else { return false }
    let places = found.companionPlaces(of: request, beside: path)
    for member in found.companionMembers {
      let place = Self.place(of: member.path, places) ?? path
      guard try stands(member, at: place, of: found) else {
        throw OperationError(
          .usage, code: "destinationExists",
          "\(path) exists already: it is the version's database, and not all that comes with it stands there: \(place)",
          hint: "Move all of it away to restore it again, or leave what comes with it out with --no-companions.")
      }
    }
    return true
  }

  /// What is told of it.
  func outcome(
    ofStanding found: FoundVersion, at path: String, _ request: Restore.Request
  ) async throws -> Restore.Outcome {
    let checked =
      found.isImage ? try await checked(path, found.summary) : Checked(outcome: "not a database", time: nil)
    let places = found.companionPlaces(of: request, beside: path)
    let isApart = found.layout(of: request, at: path) == .apart
    var pulled = Outcome(version: found.summary, path: path, check: checked.outcome, checkedAt: checked.time)
    (pulled.leftOut, pulled.standIn) = (found.leftOut, found.standIn)
    if isApart {
      pulled.companionsFolder = places.first { $0.member == nil }?.path
      pulled.supportFolder = places.first { $0.member != nil }?.path
    }
    return Restore.Outcome(pulled: pulled, mode: .new, companions: isApart ? [] : places.map(\.path))
  }

  static func place(of member: String, _ places: [CompanionsPlace.Place]) -> String? {
    let place = places.first { place in place.member.map { MemberPath.isSameOrAbove($0, member) } ?? true }
    guard let place else { return nil }
    return ([place.path] + MemberPath.components(of: member, below: place.member ?? "")).joined(separator: "/")
  }

  private func stands(_ member: Core.Member, at place: String, of found: FoundVersion) throws -> Bool {
    let name = RestoredFile.name(of: place)
    guard let folder = FolderHandle(path: PathSteps.folder(of: place)), let status = folder.status(name) else {
      return false
    }
    switch member.content {
    case .folder: return status.st_mode & S_IFMT == S_IFDIR
    case .link(let target): return folder.linkTarget(name).map { MemberPath.isSame($0, target) } ?? false
    case .database(let content), .file(let content): return try holds(folder.file(name), content, of: found)
    }
  }

  /// Takes over the descriptor and closes it.
  private func holds(_ file: Int32, _ content: Core.FileContent, of found: FoundVersion) throws -> Bool {
    guard file >= 0 else { return false }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, UInt64(status.st_size) == content.length
    else { return false }
    let (digest, length) = (RunningDigest(), Int(status.st_size))
    let isRead = try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 4096) { buffer -> Bool in
      for start in stride(from: 0, to: length, by: buffer.count) {
        try Task.checkCancellation()
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, length - start)])
        guard WholeTransfer.read(into: part, from: file, at: start) == 0 else { return false }
        digest.update(UnsafeRawBufferPointer(part))
        world.reporter.progress(
          Progress(.checking, subject: found.summary.database, bytesDone: start + part.count, bytesTotal: length))
      }
      return true
    }
    return isRead && digest.finish() == content.sha256
  }
}
