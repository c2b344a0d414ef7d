import Glibc
import Sealing
import Storage

/// How far a temporary is complete, counted from its beginning: what a restore that was cut has fetched, the next one of
/// the same version need not fetch.
///
/// It is noted in a sector behind the content: there it needs nothing of the file system, is with the file whatever
/// becomes of that, and is cut off before anybody looks at the file. It saves work and proves nothing: in the end all of
/// the file is proved by the version's digest, whatever was noted.
final class FetchNote: Sendable {
  private struct State {
    var complete = 0
    var isOpen = false
  }

  /// What a disk writes whole or not at all.
  private static let sector = 512
  private static let mark = Array("sealift fetched\n".utf8)

  /// The id of the version: a hash over the length and the digest of its content, whatever manifest tells them.
  private let version: Digest
  /// Of the content, in bytes.
  let length: Int
  private let state = Locked(State())

  init(of version: Digest, length: Int) {
    self.version = version
    self.length = length
  }

  /// So many bytes from the beginning on were put in place, not all of them on the disk yet.
  var complete: Int { state.withLock { $0.complete } }

  func reach(_ complete: Int) { state.withLock { $0.complete = max($0.complete, complete) } }

  /// From now on it may be written, whatever was complete before.
  func begin(at complete: Int) { state.withLock { $0 = State(complete: complete, isOpen: true) } }

  /// It is never written after this, by nobody who is still about to.
  func end() { state.withLock { $0.isOpen = false } }

  /// Notes what is on the disk.
  /// - Returns: whether it stands in the file now.
  func write(_ complete: Int, to descriptor: Int32) -> Bool {
    state.withLock { state in
      // Meanwhile the file may have been finished, or begun anew.
      guard state.isOpen, complete > 0, complete <= state.complete else { return false }
      return WholeTransfer.write(record(complete)[...], to: descriptor, at: place) == 0
    }
  }

  /// What a file of a dead run has noted of this version.
  /// - Returns: `nil` where it has nothing of it, or is not what only we can have made.
  func found(in descriptor: Int32, at path: String) -> Int? {
    guard Self.isOwn(descriptor, at: path, length: place + Self.sector) else { return nil }
    var bytes = [UInt8](repeating: 0, count: Self.sector)
    guard bytes.withUnsafeMutableBytes({ WholeTransfer.read(into: $0, from: descriptor, at: place) }) == 0 else {
      return nil
    }
    let number = bytes.dropFirst(Self.mark.count + version.bytes.count).prefix(8)
      .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let complete = Int(exactly: number), (1...max(1, length)).contains(complete) else { return nil }
    return bytes == record(complete) ? complete : nil
  }

  /// Under this one name, of this user, and of nobody else's business: whoever could have changed it may have it open.
  private static func isOwn(_ descriptor: Int32, at path: String, length: Int) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0, Int(status.st_size) == length else { return false }
    let isPrivate = status.st_mode == S_IFREG | 0o600 && status.st_uid == geteuid()
    guard isPrivate, status.st_nlink == 1 else { return false }
    return FileIdentity(at: path) == FileIdentity(status)
  }

  /// At a multiple of sectors, so that it is whole or not there.
  private var place: Int { (length + Self.sector - 1) / Self.sector * Self.sector }

  private func record(_ complete: Int) -> [UInt8] {
    var bytes = Self.mark + version.bytes
    for number in [complete, length] { withUnsafeBytes(of: UInt64(number).bigEndian) { bytes += $0 } }
    bytes += Digest.sha256(of: bytes).bytes
    return bytes + [UInt8](repeating: 0, count: Self.sector - bytes.count)
  }
}
