package import Storage

/// Answers some reads with what is not there, and counts them.
package final class SpoilingStore: ObjectStore {
  /// What comes instead.
  package enum Spoilt: Sendable, CaseIterable {
    case page
    case shortPage
    case garbled
    case absent
    case noSuchRange
  }

  private let base: MemoryStore
  private let spoilt: Spoilt
  private let meets: @Sendable (Int) -> Bool
  private let state = Locked((gets: 0, met: 0))

  /// - Parameter meets: which reads are spoilt, by their number; the first one is 0.
  package init(_ base: MemoryStore, _ spoilt: Spoilt, meets: @escaping @Sendable (Int) -> Bool) {
    (self.base, self.spoilt, self.meets) = (base, spoilt, meets)
  }

  /// Reads so far.
  package var gets: Int { state.withLock { $0.gets } }
  /// Those that were spoilt.
  package var met: Int { state.withLock { $0.met } }
  package var traits: StoreTraits { base.traits }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    let isMet = state.withLock { state in
      defer { state.gets += 1 }
      guard meets(state.gets) else { return false }
      state.met += 1
      return true
    }
    let bytes = try await base.get(name, range: range)
    guard isMet else { return bytes }
    switch spoilt {
    case .page: return Array(String(repeating: "<p>Sign in</p>", count: bytes.count / 14 + 1).utf8.prefix(bytes.count))
    case .shortPage: return Array("<p>Sign in</p>".utf8.prefix(bytes.count - 1))
    case .garbled: return bytes.enumerated().map { $0.offset % 512 == 7 ? $0.element ^ 4 : $0.element }
    case .absent: throw StoreError(.notFound, "there is no \(name)")
    case .noSuchRange: throw StoreError(.badRange, "\(name) has 17 bytes")
    }
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  package func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
