import Glibc
import Platform
import Storage

/// Brings a file to the disk while it is still being filled, so that the last `fsync` finds little left, and notes how much
/// of it is there.
final class WriteBack: Sendable {
  /// Begun anew after so many bytes.
  private static let step = 64 << 20

  private struct State {
    var unwritten = 0
    var isRunning = false
  }

  private let descriptor: Int32
  private let fetched: FetchNote?
  private let state = Locked(State())
  /// The number of the first error. The kernel tells a write that failed once, to whoever synchronizes first.
  private let problem = Locked<Int32>(0)

  /// Takes over the descriptor and closes it.
  init(of descriptor: Int32, noting fetched: FetchNote? = nil) {
    self.descriptor = descriptor
    self.fetched = fetched
  }

  deinit { close(descriptor) }

  /// So many bytes were written anywhere in the file.
  func wrote(_ count: Int) {
    let isDue = state.withLock { state in
      state.unwritten += count
      guard state.unwritten >= Self.step, !state.isRunning else { return false }
      state.unwritten = 0
      state.isRunning = true
      return true
    }
    if isDue { begin() }
  }

  /// Makes all that was written durable, then notes how much of it is complete.
  /// - Returns: false also when there is nothing to note.
  func mark() -> Bool {
    // What is put in place from here on may not be on the disk when the call returns.
    let complete = fetched?.complete ?? 0
    return synchronize(fdatasync) == 0 && fetched?.write(complete, to: descriptor) == true
  }

  /// Makes all that was written durable.
  /// - Returns: 0, or the number of the first error, also of one that happened meanwhile.
  func finish() -> Int32 { synchronize(fsync) }

  /// On a thread of its own, because it waits for the disk. Where there can be none, the last `fsync` has it all to do.
  private func begin() { _ = startThread { self.run() } }

  private func run() {
    _ = mark()
    state.withLock { $0.isRunning = false }
  }

  private func synchronize(_ call: (Int32) -> Int32) -> Int32 {
    problem.withLock { problem in
      if call(descriptor) != 0, problem == 0 { problem = errno }
      return problem
    }
  }
}
