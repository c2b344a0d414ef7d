package import Sealing
import Storage

/// The slots that were opened in one run, and what they gave: a run that pushes many databases opens the repository for
/// each of them, and a passphrase costs half a second and 128 MiB each time.
///
/// Nothing is looked up here that was not just read at the target: a slot that was removed meanwhile is not asked for, and
/// one of other bytes, or another secret, is tried as ever. Of what did not open nothing is remembered.
package final class OpenedSlots: Sendable {
  private struct Opened: Sendable {
    let slot: [UInt8]
    let secret: SlotSecret
    let repository: RepositoryID
    /// Zeroed when the run lets go of it.
    let master: MasterKey
  }

  private let opened = Locked<[Opened]>([])
  private let opening: SlotOpening

  /// - Parameter opening: opens a slot; of tests that count how often.
  package init(
    opening: @escaping SlotOpening = { slot, secret, repository throws(SealError) in
      try KeySlot.open(slot, secret: secret, repository: repository)
    }
  ) {
    self.opening = opening
  }

  package func open(
    _ slot: [UInt8], _ secret: SlotSecret, _ repository: RepositoryID
  ) throws(SealError) -> MasterKey {
    if let held = held(slot, secret, repository) { return held }
    let master = try opening(slot, secret, repository)
    opened.withLock { $0.append(Opened(slot: slot, secret: secret, repository: repository, master: master)) }
    return master
  }

  private func held(_ slot: [UInt8], _ secret: SlotSecret, _ repository: RepositoryID) -> MasterKey? {
    opened.withLock { opened in
      opened.first { $0.slot == slot && $0.secret == secret && $0.repository == repository }?.master
    }
  }
}

extension OpenedSlots: CustomStringConvertible, CustomReflectable {
  package var description: String { "(opened slots)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
