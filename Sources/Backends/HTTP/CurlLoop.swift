import CCurl
import Platform
import Storage

/// All transfers of one client, driven by one thread. Only that thread touches libcurl's handles; others leave
/// commands and wake it up.
final class CurlLoop: Sendable {
  private enum Command {
    case add(CurlTransfer)
    case cancel(Int)
    case stop
  }

  private struct Inbox {
    var commands: [Command] = []
    var lastNumber = 0
    var isStopped = false
  }

  /// The multi handle: `curl_multi_wakeup` is the one call that other threads may make on it.
  private struct Handle: @unchecked Sendable { let pointer: UnsafeMutableRawPointer? }

  private let multi: Handle
  private let settings: HTTPSettings
  private let inbox = Locked(Inbox())

  init(_ settings: HTTPSettings) {
    CurlSetUp.once
    let pointer = curl_multi_init()
    multi = Handle(pointer: pointer)
    self.settings = settings
    guard let pointer else {
      inbox.withLock { $0.isStopped = true }
      return
    }
    sl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, settings.concurrency * 2)
    if startThread({ self.run() }) != 0 {
      // Nobody will ever take anything out of the inbox.
      inbox.withLock { $0.isStopped = true }
      curl_multi_cleanup(pointer)
    }
  }

  func nextNumber() -> Int {
    inbox.withLock { inbox in
      inbox.lastNumber += 1
      return inbox.lastNumber
    }
  }

  /// `false` when the loop has ended, or could not begin, or the task that asks was cancelled; then nothing will come of
  /// the transfer.
  func add(_ transfer: CurlTransfer) -> Bool { post(.add(transfer)) }

  /// Ends a transfer; one that is unknown or over is not minded.
  func cancel(_ number: Int) { _ = post(.cancel(number)) }

  func stop() { _ = post(.stop) }

  private func post(_ command: Command) -> Bool {
    inbox.withLock { inbox in
      if inbox.isStopped { return false }
      // Under the lock: if the task is cancelled after this look, the handler's command stands in the queue behind this
      // one. In front of it, it would end nothing.
      if case .add = command, Task.isCancelled { return false }
      if case .stop = command { inbox.isStopped = true }
      inbox.commands.append(command)
      // Under the lock: after `stop` was taken out the handle may be gone.
      curl_multi_wakeup(multi.pointer)
      return true
    }
  }

  private func run() {
    guard let pointer = multi.pointer else { return }
    var work = CurlWork(multi: pointer, settings: settings)
    while true {
      let commands = inbox.withLock { inbox in
        let commands = inbox.commands
        inbox.commands.removeAll()
        return commands
      }
      for command in commands {
        switch command {
        case .add(let transfer): work.add(transfer)
        case .cancel(let number): work.cancel(number)
        case .stop: return work.end()
        }
      }
      work.proceed()
    }
  }
}
