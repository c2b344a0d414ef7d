package import Storage

/// Calls made and bytes moved, as far as they succeeded.
package struct Tally: Sendable, Hashable {
  package var puts = 0
  package var gets = 0
  package var heads = 0
  package var lists = 0
  package var deletes = 0
  /// Calls of any kind that threw.
  package var failures = 0
  package var bytesUp = 0
  package var bytesDown = 0

  package init() {}

  /// Calls of every kind, failed ones among them.
  package var calls: Int { puts + gets + heads + lists + deletes + failures }
}

/// Counts what goes through it.
package final class TallyingStore: ObjectStore {
  private let base: any ObjectStore
  private let counted = Locked(Tally())
  private let changed: @Sendable (Tally) -> Void

  /// - Parameter changed: called after each request, from whatever task made it.
  package init(_ base: any ObjectStore, changed: @escaping @Sendable (Tally) -> Void = { _ in }) {
    self.base = base
    self.changed = changed
  }

  package var traits: StoreTraits { base.traits }

  /// Everything so far.
  package var tally: Tally { counted.withLock { $0 } }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await counting { () async throws(StoreError) in
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    } as: { tally, _ in
      tally.puts += 1
      tally.bytesUp += body.bytes.count
    }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await counting { () async throws(StoreError) in
      try await base.get(name, range: range)
    } as: { tally, bytes in
      tally.gets += 1
      tally.bytesDown += bytes.count
    }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await counting { () async throws(StoreError) in
      try await base.head(name)
    } as: { tally, _ in
      tally.heads += 1
    }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await counting { () async throws(StoreError) in
      try await base.list(prefix: prefix)
    } as: { tally, _ in
      tally.lists += 1
    }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await counting { () async throws(StoreError) in
      try await base.delete(name)
    } as: { tally, _ in
      tally.deletes += 1
    }
  }

  private func counting<Answer>(
    _ request: () async throws(StoreError) -> Answer, as count: (inout Tally, Answer) -> Void
  ) async throws(StoreError) -> Answer {
    do {
      let answer = try await request()
      note { count(&$0, answer) }
      return answer
    } catch {
      note { $0.failures += 1 }
      throw error
    }
  }

  private func note(_ change: (inout Tally) -> Void) {
    let now = counted.withLock { tally in
      change(&tally)
      return tally
    }
    changed(now)
  }
}
