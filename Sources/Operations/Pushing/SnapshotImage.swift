import Glibc
import Repositories
import Snapshots

/// A snapshot's file, open for reading by any task, in any order, perhaps while it is still being written.
final class SnapshotImage: Sendable {
  private let descriptor: Int32
  /// In bytes; while it grows, about what it will be.
  private let length: Int
  private let growth: CopyGrowth?

  init(_ snapshot: Snapshot, growth: CopyGrowth? = nil) throws {
    self.growth = growth
    descriptor = open(snapshot.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      throw OperationError(.failed, "cannot read the snapshot \(snapshot.path): \(String(cString: strerror(errno)))")
    }
    length = snapshot.length
  }

  deinit { close(descriptor) }

  /// The best that is known of its length by now, in bytes.
  var expectedLength: Int { growth?.expectedLength ?? length }

  /// The database image, or the file that stands for it, as a member of a version. Its name is the file's own; its mode that of the source.
  func member(of database: DatabaseSource, _ snapshot: Snapshot) -> MemberSource {
    let name = MemberPath.components(database.path).last ?? database.name
    var member = MemberSource(
      content: snapshot.memberContent, path: name, mode: snapshot.source.mode & 0o777,
      modified: snapshot.memberTime, length: length, read: { try self.read($0) })
    if let growth { member.growth = { try await growth.readable($0) } }
    return member
  }

  private func read(_ range: Range<Int>) throws -> [UInt8] {
    var problem: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count {
        let got = pread(descriptor, buffer.baseAddress! + count, range.count - count, off_t(range.lowerBound + count))
        if got < 0, errno == EINTR { continue }
        if got == 0, growth != nil {
          // Not written yet. Once it is, this is not what it was.
          buffer[count..<range.count].initialize(repeating: 0)
          count = range.count
          return
        }
        if got <= 0 {
          problem = got < 0 ? errno : EIO
          return
        }
        count += got
      }
    }
    guard problem == 0 else {
      throw OperationError(.failed, "cannot read the snapshot: \(String(cString: strerror(problem)))")
    }
    return bytes
  }
}

extension Progress {
  init(_ progress: SnapshotProgress, subject: String) {
    let total = progress.pagesTotal.flatMap { total in
      progress.pagesDone > 0 ? progress.bytesDone / progress.pagesDone * total : nil
    }
    self.init(
      progress.stage == .copying ? .copying : .checking, subject: subject, bytesDone: progress.bytesDone,
      bytesTotal: total)
  }
}
