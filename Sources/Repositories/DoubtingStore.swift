import Sealing
import Storage

/// Asks once more for an object whose bytes are not those that its name says, and for what is said not to be there, or to be
/// shorter: a page of a proxy, or an answer that came garbled, says nothing of the object. The second answer counts,
/// whatever it is.
///
/// Parts have no hash: whoever opens one asks again (`Repository.part`, `WaveDecoder`).
///
/// What fails while the target answers is said of the object that was asked for (`StoreError.object`).
struct DoubtingStore: ObjectStore {
  private let base: any ObjectStore
  /// What can be read as long as anything can: the repository file, and what opened the repository. One of them may lie in
  /// a bad sector itself.
  private let witnesses: [ObjectName]

  init(_ base: any ObjectStore, witnesses: [ObjectName] = []) {
    self.base = base
    self.witnesses = witnesses
  }

  var traits: StoreTraits { base.traits }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    do {
      let bytes = try await base.get(name, range: range)
      if range?.count == bytes.count || range == nil && Self.areNamed(bytes, name) { return bytes }
    } catch {
      guard [.notFound, .badRange].contains(error.code) || error.code == .unreadable else {
        throw Self.told(error, of: name)
      }
    }
    do {
      return try await base.get(name, range: range)
    } catch {
      if error.code == .unreadable { try await demandWitness(besides: name, error) }
      throw Self.told(error, of: name)
    }
  }

  /// A disk that was pulled out fails at every object: that says nothing of this one.
  private func demandWitness(besides name: ObjectName, _ problem: StoreError) async throws(StoreError) {
    let others = witnesses.filter { $0 != name }
    guard !others.isEmpty else { return }
    for witness in others {
      do {
        _ = try await base.get(witness, range: nil)
        return
      } catch {
        // One that was lost says so: the target answers.
        if error.code == .notFound { return }
        if error.code == .cancelled { throw error }
        guard error.code == .unreadable else { break }
      }
    }
    throw StoreError(
      .unavailable, "\(problem.message); nor can what opens the repository be read",
      hint: "Check that the disk or the server of the target is there, and moves nothing into an archive.",
      retry: .later(after: nil), cause: problem)
  }

  private static func told(_ error: StoreError, of name: ObjectName) -> StoreError {
    guard ofOneObject.contains(error.code) else { return error }
    var error = error
    error.object = name
    return error
  }

  /// What a target says of one object while it gives others; the rest would be said of any.
  private static let ofOneObject: Set<StoreError.Code> = [
    .notFound, .badRange, .unreadable, .forbidden, .unsupported, .badAnswer, .fileSystem,
  ]

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }

  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }

  private static func areNamed(_ bytes: [UInt8], _ name: ObjectName) -> Bool {
    Layout.digest(namedBy: name).map { $0 == .sha256(of: bytes) } ?? true
  }
}
