import CLinux
import Glibc

/// A pipe that no child inherits, not even one that another thread starts in the same instant: whoever reads at one end
/// would wait for as long as that child lives.
package enum PrivatePipe {
  /// - Returns: `nil`, and `errno`, where there is none to be had.
  package static func make() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard sl_pipe(&ends, O_CLOEXEC) == 0 else { return nil }
    return (ends[0], ends[1])
  }
}
