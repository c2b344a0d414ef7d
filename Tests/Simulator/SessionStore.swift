import Repositories
import Storage

/// The target as one session of one host sees it: every request waits until the simulation lets it go on.
final class SessionStore: ObjectStore, @unchecked Sendable {
  let traits = StoreTraits(location: "simulated:", concurrency: 3, conditionalPut: false)
  private let simulation: Simulation
  private let session: Session?

  /// - Parameter session: `nil` for the simulation's own look at the target, which is answered at once and truthfully.
  init(_ simulation: Simulation, _ session: Session?) {
    self.simulation = simulation
    self.session = session
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    _ = try await ask(.put(name, body.bytes))
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard case .bytes(let bytes) = try await ask(.get(name)) else { throw Self.notFound(name) }
    guard let range else { return bytes }
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
      throw StoreError(.badRange, "\(name) has \(bytes.count) bytes, not \(range)")
    }
    return Array(bytes[range])
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    guard case .bytes(let bytes) = try await ask(.get(name)) else { return nil }
    return ObjectInfo(name: name, size: bytes.count)
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    guard case .infos(let infos) = try await ask(.list(prefix)) else { return [] }
    return infos
  }

  func delete(_ name: ObjectName) async throws(StoreError) { _ = try await ask(.delete(name)) }

  private static func notFound(_ name: ObjectName) -> StoreError { StoreError(.notFound, "there is no \(name)") }

  private func ask(_ request: Request) async throws(StoreError) -> Answer {
    guard let session, !session.goesStraight, !request.isOfOpening else { return simulation.answerStraight(request) }
    return try await simulation.wait(request, session).get()
  }
}

enum Request: Sendable {
  case put(ObjectName, [UInt8])
  case get(ObjectName)
  case list(String)
  case delete(ObjectName)
  /// Time passes; no request at all.
  case pause(until: UInt64)

  var words: String {
    switch self {
    case .put(let name, let bytes): "put \(Self.short(name.text)) of \(bytes.count) bytes"
    case .get(let name): "get \(Self.short(name.text))"
    case .list(let prefix): "list \(Self.short(prefix))"
    case .delete(let name): "delete \(Self.short(name.text))"
    case .pause(let time): "pause until \(time)"
    }
  }

  /// A name with its long hexadecimal parts cut.
  static func short(_ text: String) -> String {
    text.split(separator: "/", omittingEmptySubsequences: false).map { part in
      part.split(separator: "-", omittingEmptySubsequences: false).map { String($0.prefix(12)) }.joined(separator: "-")
    }.joined(separator: "/")
  }
}

enum Answer: Sendable {
  case done
  case bytes([UInt8])
  case absent
  case infos([ObjectInfo])
}

extension Request {
  /// The requests that the protocol's order is about.
  var isDecisive: Bool {
    switch self {
    case .put(let name, _): name.text.hasPrefix("versions/") || name.text.hasPrefix("gone/")
    case .list(let prefix): prefix.hasPrefix("gone/") || prefix.hasPrefix("packs/")
    case .delete: true
    case .get, .pause: false
    }
  }

  /// Comes before the deed itself.
  var isOfOpening: Bool {
    let text: String
    switch self {
    case .put(let name, _), .get(let name), .delete(let name): text = name.text
    case .list(let prefix): text = prefix
    case .pause: return false
    }
    return [Layout.repositories, Layout.slots, Layout.keyrings, Layout.configurations].contains { text.hasPrefix($0) }
  }

  /// What it does to the target.
  var effect: Target.Late? {
    switch self {
    case .put(let name, let bytes): .put(name, bytes)
    case .delete(let name): .delete(name)
    case .get, .list, .pause: nil
    }
  }
}

extension Target.Late {
  var words: String {
    switch self {
    case .put(let name, _): "put \(Request.short(name.text))"
    case .delete(let name): "delete \(Request.short(name.text))"
    }
  }
}
