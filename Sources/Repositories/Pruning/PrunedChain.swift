package import Sealing
package import Storage

/// What a prune did to one chain, or would do.
package struct PrunedChain: Sendable {
  /// So many objects, of so many bytes in all.
  package struct Tally: Sendable, Equatable {
    package private(set) var objects = 0
    package private(set) var bytes = 0

    package init() {}

    init(_ objects: some Sequence<ObjectInfo>) {
      for object in objects {
        self.objects += 1
        bytes = [bytes, object.size].clampedSum
      }
    }

    package static func + (left: Self, right: Self) -> Self {
      var sum = left
      sum.objects += right.objects
      sum.bytes = [left.bytes, right.bytes].clampedSum
      return sum
    }
  }

  package let chain: ChainID
  package let host: String
  package let database: String
  /// Versions that were forgotten, and stay because that was not long enough ago.
  package let resting: Int
  /// Of those, what stays for a week now because the target shows nothing that proves how late it is there: where nobody
  /// pushes to it any more they stay for ever.
  package let waitsForTime: Int
  /// Manifests at forgotten places that cannot be read, or were cut, and stay because they may be of another version than was
  /// forgotten there.
  package let doubted: Int
  /// Named by records of this run: nothing refers to them from now on.
  package var condemned = Tally()
  /// Not at the target any more.
  package var freed = Tally()
  /// Condemned, and left to a later run.
  package var waiting = Tally()
  /// Of those, what waits for a newer version alone, and has for a week: where none is pushed any more it waits for ever.
  package var waitsForVersion = Tally()
  /// Packs that nothing needs, and that are too young to go: a push that runs may be about to refer to them.
  package var young = Tally()
  /// Packs that nothing needs, and that stay because a manifest was cut, or cannot be read and a later revision stands in for
  /// it: it may have been of another version, whose packs they are.
  package var unclaimed = Tally()
  /// Kept by the target: these credentials may not delete, or a lock holds them.
  package var retained = Tally()
  /// What the target said to the first of those.
  package var retainedBecause: StoreError?
  /// What else could not be deleted, and why; another run tries again.
  package var failures: [StoreError] = []
  /// What ended it after something was condemned or deleted: a signal, a target that went away, a doubt of the second look.
  /// What is told of here is what was answered until then.
  package var cut: (any Error)?

  init(_ view: ChainView) {
    chain = view.chain
    resting = Set(view.manifests.filter { view.live.resting.contains($0.digest) }.map(\.id)).count
    waitsForTime = view.unproved.count
    doubted = view.doubted.count
    let newest = view.manifests.last { $0.isComplete }?.version
    host = newest?.host ?? ""
    database = newest?.database ?? ""
  }
}
