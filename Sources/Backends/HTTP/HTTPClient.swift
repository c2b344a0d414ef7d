import CCurl
import Storage

/// Sends requests over libcurl and waits for their answers without holding a thread.
///
/// Redirects are never followed, so that nothing meant for one server goes to another. Proxies are found by libcurl
/// in the environment (`https_proxy`, `all_proxy`, `no_proxy`), never for loopback; `.netrc` is not read.
final class HTTPClient: Sendable {
  private let loop: CurlLoop

  init(_ settings: HTTPSettings = HTTPSettings()) { loop = CurlLoop(settings) }

  deinit { loop.stop() }

  /// The server's answer, whatever its status.
  /// - Throws: when there was none, or it was too large; `.cancelled` when the task was cancelled.
  func send(_ request: HTTPRequest) async throws(StoreError) -> HTTPResponse {
    let number = loop.nextNumber()
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard loop.add(CurlTransfer(number, request, continuation)) else {
          return continuation.resume(returning: .failure(Task.isCancelled ? .cancelled(request) : .noMemory))
        }
      }
    } onCancel: {
      loop.cancel(number)
    }
    return try outcome.get()
  }
}

extension StoreError {
  static let noMemory = StoreError(
    .unavailable, "libcurl has no memory for another request",
    hint: "Make more memory available, and try again.")

  static func cancelled(_ request: HTTPRequest) -> StoreError {
    StoreError(.cancelled, "the request to \(request.authority) was cancelled")
  }
}
