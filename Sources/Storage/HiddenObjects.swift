/// How many objects a place only hid when it was told to delete them: it keeps them as older versions, and their bytes cost.
/// Shared by all copies of a store's traits.
package final class HiddenObjects: Sendable {
  private let number = Locked(0)

  package init() {}

  package var count: Int { number.withLock { $0 } }

  package func note() { number.withLock { $0 += 1 } }
}
