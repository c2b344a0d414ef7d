import Repositories
import Sealing
import Storage

/// One run of the program on one host: a push, a prune, a restore. A crash ends it in the middle.
final class Session: @unchecked Sendable {
  let number: Int
  let host: Host
  /// Whose chain it works on.
  let owner: Host
  let deed: String
  /// Its requests are not parked: what comes before the deed itself.
  var goesStraight = true
  var isDead = false
  var hasEnded = false
  /// A listing left something out and did not say so.
  var isMisled = false
  /// The tombstones that its first listing of them showed.
  var tombstones: Set<Digest>?
  /// It began to store an annotation.
  var hasSpoken = false

  init(number: Int, host: Host, owner: Host, deed: String) {
    self.number = number
    self.host = host
    self.owner = owner
    self.deed = deed
  }

  var name: String { "\(host.name)#\(number) \(deed)" }
}

/// A request that waits for its turn.
struct Parked {
  let session: Session
  let request: Request
  /// Of a listing that has begun: what was there then.
  var listed: [ObjectName: Int]?
  /// It shows just that: the target as it was before.
  var isLate = false
  /// It is not answered before that step, as long as there is anything else to answer.
  var wakes = 0
  let resume: (Result<Answer, StoreError>) -> Void
}
