package import Storage

/// What uploads that were killed left below `tmp/`, where folders and WebDAV servers take objects in.
package struct Leftovers: Sendable {
  /// No upload of one object takes longer, in seconds.
  private static let leastAge = 3600

  package private(set) var freed = PrunedChain.Tally()
  /// What could not be deleted, and why; another run tries again.
  package private(set) var failures: [StoreError] = []

  /// Deletes those that are older than the policy's least age, and an hour, on both clocks: the store's own, which shows
  /// the newest object it tells of, and this machine's. What the store gives no time stays, and so do names that no
  /// upload of ours has.
  /// - Parameter versions: as they were listed, for the store's time.
  /// - Throws: what `list` throws.
  package init(below store: any ObjectStore, _ policy: PrunePolicy, versions: [ObjectInfo]) async throws {
    let listed = try await store.list(prefix: "tmp/")
    let age = max(Self.leastAge, Int(clamping: policy.minAge / 1000))
    let here = Int(clamping: policy.now() / 1000)
    guard let latest = (listed + versions).compactMap(\.stored).max() else { return }
    let before = min(here, latest).subtractingReportingOverflow(age)
    guard !before.overflow else { return }
    var gone: [ObjectInfo] = []
    for info in listed where Self.isOurs(info.name) {
      guard let stored = info.stored, stored <= before.partialValue else { continue }
      if !policy.dryRun, let error = try await Self.delete(info.name, at: store) {
        failures.append(error)
      } else {
        gone.append(info)
      }
    }
    freed = PrunedChain.Tally(gone)
  }

  /// - Returns: why it is still there.
  private static func delete(_ name: ObjectName, at store: any ObjectStore) async throws(StoreError) -> StoreError? {
    do throws(StoreError) {
      try await store.delete(name)
      return nil
    } catch {
      if error.code == .cancelled { throw error }
      return error
    }
  }

  /// `tmp/` and two numbers of 64 random bits, hexadecimal.
  private static func isOurs(_ name: ObjectName) -> Bool {
    let digits = name.text.dropFirst("tmp/".count).utf8
    return (20...32).contains(digits.count)
      && digits.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }
}
