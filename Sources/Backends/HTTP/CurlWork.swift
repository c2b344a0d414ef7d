import CCurl
import Storage

/// What the loop's thread has in hand: transfers on the wire, transfers that wait, handles to use again.
///
/// The limit on transfers is our own, because `CURLMOPT_MAX_HOST_CONNECTIONS` of libcurl 7.88 forgets to wake
/// waiting transfers for a second at a time.
struct CurlWork {
  private let multi: UnsafeMutableRawPointer
  private let settings: HTTPSettings
  private var waiting: [CurlTransfer] = []
  private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
  private var spare: [UnsafeMutableRawPointer] = []
  private let sockets = CurlSockets()
  private var looked = SuspendingClock.now

  init(multi: UnsafeMutableRawPointer, settings: HTTPSettings) {
    self.multi = multi
    self.settings = settings
  }

  mutating func add(_ transfer: CurlTransfer) { waiting.append(transfer) }

  mutating func cancel(_ number: Int) {
    if let index = waiting.firstIndex(where: { $0.number == number }) {
      let transfer = waiting.remove(at: index)
      transfer.finish(.failure(.cancelled(transfer.request)))
    } else if let (handle, transfer) = running.first(where: { $0.value.number == number }) {
      release(handle)
      transfer.finish(.failure(.cancelled(transfer.request)))
    }
  }

  /// Starts what may start, moves bytes, finishes what is done, then sleeps until something happens.
  mutating func proceed() {
    while let transfer = waiting.first, running.count < settings.concurrency {
      waiting.removeFirst()
      start(transfer)
    }
    var active: Int32 = 0
    if curl_multi_perform(multi, &active) != CURLM_OK { giveUp() }
    var finishedAny = false
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
      let code = sl_message_result(message)
      guard let transfer = running[handle] else { continue }
      let outcome = transfer.outcome(code, of: handle, settings)
      release(handle)
      transfer.finish(outcome)
      finishedAny = true
    }
    giveUpStalled()
    if finishedAny, !waiting.isEmpty { return }
    curl_multi_poll(multi, nil, 0, running.isEmpty ? 60_000 : 1000, nil)
  }

  /// Ends everything; the loop is used no more.
  mutating func end() {
    for transfer in waiting { transfer.finish(.failure(.cancelled(transfer.request))) }
    for (handle, transfer) in running {
      release(handle)
      transfer.finish(.failure(.cancelled(transfer.request)))
    }
    for handle in spare { curl_easy_cleanup(handle) }
    curl_multi_cleanup(multi)
  }

  /// What is on the wire will not come to an end by itself.
  private mutating func giveUp() {
    for (handle, transfer) in running {
      release(handle)
      transfer.finish(.failure(.noMemory))
    }
  }

  /// Once a second: asks the kernel for each transfer.
  private mutating func giveUpStalled() {
    let now = SuspendingClock.now
    guard now - looked >= .seconds(1) else { return }
    looked = now
    for (handle, transfer) in running {
      let unacknowledged = sockets.unacknowledged(handle)
      let progress = transfer.moved(handle) - unacknowledged
      let patience = transfer.patience(hasArrived: unacknowledged == 0 && transfer.isSent(handle))
      let timeout = patience ?? settings.stallTimeout
      guard transfer.pace.isStalled(at: progress, now: now, timeout: timeout) else { continue }
      release(handle)
      transfer.finish(.failure(.stalled(transfer.request, for: timeout, isOfAnswer: patience != nil)))
    }
  }

  private mutating func start(_ transfer: CurlTransfer) {
    guard let handle = spare.popLast() ?? curl_easy_init() else {
      return transfer.finish(.failure(.noMemory))
    }
    // What could not be set would make another request of it: a GET of what was to be deleted.
    let isReady = transfer.configure(handle, settings)
    sockets.watch(handle)
    transfer.pace = TransferPace(now: .now)
    running[handle] = transfer
    guard isReady, curl_multi_add_handle(multi, handle) == CURLM_OK else {
      release(handle)
      return transfer.finish(.failure(.noMemory))
    }
  }

  private mutating func release(_ handle: UnsafeMutableRawPointer) {
    curl_multi_remove_handle(multi, handle)
    running[handle] = nil
    // Also takes user and password out of it.
    curl_easy_reset(handle)
    spare.append(handle)
  }
}
