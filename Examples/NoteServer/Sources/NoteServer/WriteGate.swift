/// Lets any number of writes pass until somebody closes it. Then new writes wait, and `close` returns when those under way
/// have ended: what is read from now on holds every write that a client was told of.
actor WriteGate {
  private var closed = false
  private var writing = 0
  private var waitingToWrite: [CheckedContinuation<Void, Never>] = []
  private var waitingToClose: CheckedContinuation<Void, Never>?

  func enter() async {
    while closed { await withCheckedContinuation { waitingToWrite.append($0) } }
    writing += 1
  }

  func leave() {
    writing -= 1
    guard writing == 0 else { return }
    waitingToClose?.resume()
    waitingToClose = nil
  }

  /// Only one may close it at a time.
  func close() async {
    precondition(!closed, "the gate is closed already")
    closed = true
    if writing > 0 { await withCheckedContinuation { waitingToClose = $0 } }
  }

  func open() {
    closed = false
    for writer in waitingToWrite { writer.resume() }
    waitingToWrite = []
  }
}
