import Glibc
import Repositories

/// A file under construction in a folder that is ours, open as long as it is looked at.
final class RestoredMember: MemberDestination {
  private let descriptor: Int32
  private let path: String

  /// Takes over the descriptor.
  init(_ descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Zeros of that length, without taking room for them.
  func setLength(_ length: Int) throws {
    guard ftruncate(descriptor, off_t(length)) == 0 else { throw failure("cannot write", errno) }
  }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
    let problem = WholeTransfer.write(bytes, to: descriptor, at: offset)
    guard problem == 0 else { throw failure("cannot write", problem) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let problem = WholeTransfer.read(into: buffer, from: descriptor, at: offset)
    guard problem == 0 else { throw failure("cannot read", problem) }
  }

  private func failure(_ what: String, _ number: Int32) -> OperationError {
    .fileSystem("\(what) '\(path)'", number)
  }
}
