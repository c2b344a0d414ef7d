import Glibc
import Operations
import Storage

extension World {
  /// This machine, as an application shows it to us.
  /// - Throws: `.usage` for a state folder without a place.
  init(state: String, _ options: Repository.Options) throws(OperationError) {
    guard state.hasPrefix("/") else {
      throw OperationError(
        .usage, code: "badPath", "the state folder '\(state)' is not an absolute path",
        hint: "Name a folder by its whole path, beginning with a slash.")
    }
    for limit in [options.uploadLimit, options.downloadLimit] {
      guard let limit, limit < LimitedRate.least else { continue }
      throw OperationError(
        .usage, code: "badValue", "a limit of \(limit) bytes a second lets nothing through",
        hint: "The least is \(LimitedRate.least).")
    }
    self.init(
      stateFolder: state, host: options.host, now: { UInt64(max(0, wallMilliseconds())) },
      reporter: Remarks(tell: options.onRemark))
    isApplication = true
  }
}

/// Milliseconds since 1970 by the system's clock.
package func wallMilliseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}
