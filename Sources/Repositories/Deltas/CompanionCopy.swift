import Glibc
import Sealing

/// A copy of a companion, made while it is pushed, that may become a base. When it cannot be made, or there are many
/// already, there is none.
final class CompanionCopy {
  private let name: String
  private let length: Int
  private let bases: CompanionBases
  private let descriptor: Int32
  private var isWhole = true

  /// - Parameter length: of the file, in bytes.
  init?(_ name: String, length: Int, of bases: CompanionBases) {
    let path = bases.copyPath(name)
    unlink(path)
    guard bases.takeRoom(for: name, length) else { return nil }
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return nil }
    self.name = name
    self.length = length
    self.bases = bases
  }

  deinit { close(descriptor) }

  func add(_ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count, isWhole {
      let put = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done) }
      if put < 0, errno == EINTR { continue }
      if put > 0 {
        done += put
      } else {
        isWhole = false
        bases.dropCopy(name)
      }
    }
  }

  /// All was read.
  func end() {
    guard isWhole else { return }
    bases.note(name) { $0.copied = length }
  }
}
