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

  private struct Disk {
    var isOpen = true
    /// The number of the first error. The kernel tells a write that failed once, to whoever synchronizes first.
    var problem: Int32 = 0
  }

  private let descriptor: Int32
  private let fetched: FetchNote?
  private let marked: @Sendable () -> Void
  private let start: @Sendable (@escaping @Sendable () -> Void) -> Int32
  private let state = Locked(State())
  /// One at a time.
  private let disk = Locked(Disk())

  /// Takes over the descriptor and closes it.
  /// - Parameters:
  ///   - marked: called on the thread that has brought a part to the disk; for tests.
  ///   - start: starts a thread. Tests have it fail.
  init(
    of descriptor: Int32, noting fetched: FetchNote? = nil, marked: @escaping @Sendable () -> Void = {},
    startedBy start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32 = startThread
  ) {
    self.descriptor = descriptor
    self.fetched = fetched
    self.start = start
    self.marked = marked
  }

  deinit { close() }

  /// To be called where the file gets its name: whoever finds it by that may lock it, and whatever is closed later in this
  /// process, by a thread of ours that is late, drops those locks (sqlite.org/howtocorrupt.html, 2.2).
  func close() {
    disk.withLock { disk in
      if disk.isOpen { Glibc.close(descriptor) }
      disk.isOpen = false
    }
  }

  /// The file's own, whatever has its name; `nil` once it is closed.
  var identity: FileIdentity? {
    disk.withLock { disk in
      var status = stat()
      return disk.isOpen && fstat(descriptor, &status) == 0 ? FileIdentity(status) : nil
    }
  }

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
    return disk.withLock { disk in
      synchronize(fdatasync, &disk) == 0 && fetched?.write(complete, to: descriptor) == true
    }
  }

  /// Makes all that was written durable.
  /// - Returns: 0, or the number of the first error, also of one that happened meanwhile.
  func finish() -> Int32 { disk.withLock { synchronize(fsync, &$0) } }

  /// On a thread of its own, because it waits for the disk. Where there can be none, it is tried again after as many bytes; at
  /// last `fsync` has it all to do.
  private func begin() {
    if start({ self.run() }) != 0 { state.withLock { $0.isRunning = false } }
  }

  private func run() {
    _ = mark()
    marked()
    state.withLock { $0.isRunning = false }
  }

  private func synchronize(_ call: (Int32) -> Int32, _ disk: inout Disk) -> Int32 {
    guard disk.isOpen else { return EBADF }
    if call(descriptor) != 0, disk.problem == 0 { disk.problem = errno }
    return disk.problem
  }
}
