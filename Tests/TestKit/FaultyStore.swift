package import Storage

/// Fails as planned, and knows whether every planned fault came to pass: a test whose fault never fired proves
/// nothing.
package final class FaultyStore: ObjectStore {
  package enum Call: String, Sendable, CaseIterable {
    case put
    case get
    case head
    case list
    case delete
  }

  /// What happens to one call.
  package enum Fault: Sendable {
    /// The call fails and nothing else happens.
    case failure(StoreError)
    /// The call reaches the store, and its answer is lost.
    case lostAnswer(StoreError)
    /// The call goes through: for faults that come later.
    case none
  }

  private struct State {
    var plan: [Call: [Fault]] = [:]
    var calls: [Call: Int] = [:]
  }

  private let base: any ObjectStore
  private let state = Locked(State())

  package init(_ base: any ObjectStore) { self.base = base }

  package var traits: StoreTraits { base.traits }

  /// Adds to the queue of faults of one call; the first one meets the next call.
  package func plan(_ call: Call, _ fault: Fault, times: Int = 1) {
    state.withLock { $0.plan[call, default: []] += Array(repeating: fault, count: times) }
  }

  /// How often a call was made, failed or not.
  package func count(_ call: Call) -> Int { state.withLock { $0.calls[call, default: 0] } }

  /// Calls that still have faults before them.
  package var unfiredFaults: [Call] {
    state.withLock { state in Call.allCases.filter { !(state.plan[$0] ?? []).isEmpty } }
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await meet(.put) { () async throws(StoreError) in try await base.put(body, at: name, ifAbsent: ifAbsent) }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await meet(.get) { () async throws(StoreError) in try await base.get(name, range: range) }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await meet(.head) { () async throws(StoreError) in try await base.head(name) }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await meet(.list) { () async throws(StoreError) in try await base.list(prefix: prefix) }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await meet(.delete) { () async throws(StoreError) in try await base.delete(name) }
  }

  private func meet<Answer>(
    _ call: Call, _ request: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let fault = state.withLock { state -> Fault in
      state.calls[call, default: 0] += 1
      guard let first = state.plan[call]?.first else { return .none }
      state.plan[call]?.removeFirst()
      return first
    }
    switch fault {
    case .none: return try await request()
    case .failure(let error): throw error
    case .lostAnswer(let error):
      _ = try await request()
      throw error
    }
  }
}
