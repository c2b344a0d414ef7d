package import Storage

/// A store in memory: the contract at its simplest, and a place where tests look and tamper.
package final class MemoryStore: ObjectStore {
  private let objects = Locked<[ObjectName: [UInt8]]>([:])
  package let traits: StoreTraits

  /// - Parameter identity: one of its own unless given.
  package init(location: String = "memory:", identity: String? = nil, concurrency: Int = 4) {
    let identity = identity ?? "\(location) \(UInt64.random(in: 0 ... .max))"
    traits = StoreTraits(location: location, identity: identity, concurrency: concurrency, conditionalPut: true)
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    let taken = objects.withLock { objects in
      if ifAbsent, let held = objects[name], held != body.bytes { return true }
      objects[name] = body.bytes
      return false
    }
    if taken { throw StoreError(.exists, "\(name) holds other bytes") }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard let bytes = objects.withLock({ $0[name] }) else { throw StoreError(.notFound, "there is no \(name)") }
    guard let range else { return bytes }
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
      throw StoreError(.badRange, "\(name) has \(bytes.count) bytes, not \(range)")
    }
    return Array(bytes[range])
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    objects.withLock { $0[name] }.map { ObjectInfo(name: name, size: $0.count) }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    objects.withLock { objects in
      objects.filter { $0.key.text.hasPrefix(prefix) }.map { ObjectInfo(name: $0.key, size: $0.value.count) }
    }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) { objects.withLock { $0[name] = nil } }

  /// Everything in it, to look at or to tamper with.
  package var content: [ObjectName: [UInt8]] {
    get { objects.withLock { $0 } }
    set { objects.withLock { $0 = newValue } }
  }
}
