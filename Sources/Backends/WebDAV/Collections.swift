import Storage

/// The collections that a store needs, made once each.
struct Collections: Sendable {
  private let requests: WebDAVRequests
  private let known = Locked<Set<String>>([])
  /// Something in the target was seen.
  private let wasThere = Locked(false)

  init(_ requests: WebDAVRequests) { self.requests = requests }

  /// Makes these collections, each in the one before it, where they are missing.
  /// - Throws: `.noTarget` when the target's own collection is missing and may not be made.
  func make(_ steps: [Substring]) async throws(StoreError) {
    if !isKnown("") { try await confirmTarget() }
    var path = ""
    for step in steps {
      path += "\(step)/"
      if isKnown(path) { continue }
      let response = try await requests.send("MKCOL", path)
      switch response.status {
      // 405 and 200 (and 301 of some) mean that it is there.
      case 200, 201, 204, 301, 405: remember(path)
      default:
        // Apache says 403 to all but one of several that make it at once.
        guard try await isThere(path) else {
          throw requests.error(response, "the collection \(requests.location(path)) could not be made", for: .write)
        }
        remember(path)
      }
    }
  }

  /// Somebody took collections away: asks again from now on.
  func forget() { known.withLock { $0.removeAll() } }

  /// Something in the target was seen: when it is not there later, that may pass.
  func noteTarget() { wasThere.withLock { $0 = true } }

  /// - Throws: `.noTarget` when the target's own collection is not there. Where it was a moment ago, a proxy may have no
  ///   server behind it: then it is worth another try.
  func confirmTarget() async throws(StoreError) {
    if try await requests.find("", depth: 0) == nil {
      guard requests.configuration.create else {
        throw StoreError(
          .noTarget, "there is no collection \(requests.location(""))",
          hint: "Check the target's URL; `sealift init` makes the collection of a new target.",
          retry: wasThere.withLock { $0 } ? .later(after: nil) : .never)
      }
      try await makeTarget()
    }
    noteTarget()
    remember("")
  }

  /// Makes the target's own collection, and those above it that are missing: of those a server says 409 (RFC 4918 §9.3.1).
  private func makeTarget() async throws(StoreError) {
    let addresses = requests.configuration.address.andThoseAbove
    var level = 0
    while !(try await made(addresses[level])) {
      level += 1
      guard level < addresses.count else { throw noneAbove }
    }
    while level > 0 {
      level -= 1
      guard try await made(addresses[level]) else { throw noneAbove }
    }
  }

  /// False when the collection above it is missing.
  private func made(_ address: WebAddress) async throws(StoreError) -> Bool {
    let response = try await requests.send("MKCOL", at: "\(address.text)/")
    switch response.status {
    case 200, 201, 204, 405: return true
    case 409: return false
    default: throw requests.error(response, "the collection \(address.text) could not be made", for: .write)
    }
  }

  private var noneAbove: StoreError {
    StoreError(
      .noTarget, "the collection \(requests.location("")) could not be made, nor any above it",
      hint: "Check the path in the target's URL; make the collection above it first.")
  }

  private func isThere(_ path: String) async throws(StoreError) -> Bool {
    let found = try await requests.find(path, depth: 0)
    return found?.resources.first?.isCollection ?? false
  }

  private func isKnown(_ path: String) -> Bool { known.withLock { $0.contains(path) } }
  private func remember(_ path: String) { _ = known.withLock { $0.insert(path) } }
}
