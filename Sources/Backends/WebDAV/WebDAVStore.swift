package import Storage

/// Objects as files of a WebDAV server.
///
/// Many servers show a file while it is still coming in, or keep the half of it when the line is cut. So an object
/// goes to `tmp/` first, and gets its name by MOVE when its size is right.
package struct WebDAVStore: ObjectStore {
  package let traits: StoreTraits
  private let requests: WebDAVRequests
  private let collections: Collections
  private let clock: StoreClock
  /// Objects and collections in one listing. Tests make it small.
  var mostListed = LongestListing.objects

  /// - Parameter now: seconds since 1970 UTC, for servers that name the date when to come back.
  package init(
    _ configuration: WebDAVConfiguration, settings: HTTPSettings = HTTPSettings(), clock: StoreClock = .system,
    now: @escaping @Sendable () -> Int
  ) {
    self.clock = clock
    requests = WebDAVRequests(configuration, HTTPClient(settings), now: now)
    collections = Collections(requests)
    // MOVE without overwriting lets several win on Apache.
    traits = StoreTraits(
      location: configuration.location, identity: "\(configuration.location) as \(configuration.user ?? "")",
      place: configuration.location, concurrency: settings.concurrency, conditionalPut: false)
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    if ifAbsent, try await head(name) != nil { return try await compare(body, with: name) }
    try await collections.make(["tmp"])
    try await collections.make(name.parents)
    let temporary = "tmp/\(TemporaryName.random())"
    do throws(StoreError) {
      try await upload(body, to: temporary, for: name)
      try await Unfinished.outwait(on: clock) { () async throws(StoreError) in
        try await move(temporary, to: name, holding: body, replacing: !ifAbsent)
      }
    } catch {
      // What went wrong is the news; a leftover is found by `prune`.
      _ = try? await requests.send("DELETE", temporary)
      throw error
    }
    guard try await finishedSize(of: name) == body.bytes.count else {
      throw StoreError(
        .badAnswer, "\(name) has another size than what was stored at \(traits.location)", retry: .later(after: nil))
    }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    if let range, range.isEmpty { return try await emptyPart(at: range.lowerBound, of: name) }
    let response = try await requests.get(name.text, range)
    switch (response.status, range) {
    case (200, nil): return response.body
    case (200, let range?), (206, let range?): return try response.part(range, of: name)
    default:
      if response.status == 404 { try await confirmAbsence(of: name) }
      throw requests.error(response, "\(name) could not be read at \(traits.location)", for: .read)
    }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    guard let answer = try await there({ () async throws(StoreError) in try await requests.find(name.text, depth: 0) })
    else { return nil }
    guard answer.resources.count == 1, let resource = answer.resources.first else {
      throw requests.refused(XMLRefusal("one resource was asked for"), name.text)
    }
    if resource.isCollection { return nil }
    guard let size = resource.size.flatMap({ Int($0) }), size >= 0 else {
      throw requests.refused(XMLRefusal("it has no size"), name.text)
    }
    return ObjectInfo(name: name, size: size)
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    let parents = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    // A prefix that no object name can begin with: nothing is there, and nothing else is asked for.
    guard parents.isEmpty || ObjectName(parents.joined(separator: "/")) != nil else { return [] }
    var found: [ObjectInfo] = []
    // Level by level: one by one, a thousand chains would take a thousand round trips.
    var level = [parents.map { $0 + "/" }.joined()]
    while !level.isEmpty {
      let seen = try await looks(into: level, for: prefix, besides: found.count)
      for look in seen { found += look.objects }
      level = seen.flatMap(\.collections)
    }
    return found
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    // DELETE of a collection would take everything in it along.
    guard try await head(name) != nil else { return }
    let response = try await requests.send("DELETE", name.text)
    switch response.status {
    case 204: return
    // It will be done later, or a proxy or a portal answered that knows nothing of the object.
    case 200, 202, 404, 410: try await demandGone(name)
    default: throw requests.error(response, "\(name) could not be deleted at \(traits.location)", for: .delete)
    }
  }
}

extension WebDAVStore {
  private func upload(_ body: ObjectBody, to temporary: String, for name: ObjectName) async throws(StoreError) {
    let response = try await requests.send(
      "PUT", temporary, headers: [("Content-Type", "application/octet-stream")], body: body.bytes,
      patience: requests.storingPatience)
    switch response.status {
    case 200, 201, 204: break
    case 404, 409, 500:
      // The collection may have been taken away after it was made; nginx says 500 then.
      collections.forget()
      throw retryable(response, "\(name) could not be stored at \(traits.location)")
    case 400: throw notTaken(name)
    default: throw requests.error(response, "\(name) could not be stored at \(traits.location)", for: .write)
    }
    guard let temporaryName = ObjectName(temporary),
      try await finishedSize(of: temporaryName, for: name) == body.bytes.count
    else {
      throw StoreError(
        .unavailable, "\(name) did not arrive whole at \(traits.location)", retry: .later(after: nil))
    }
  }

  private func move(
    _ temporary: String, to name: ObjectName, holding body: ObjectBody, replacing: Bool
  ) async throws(StoreError) {
    let response = try await requests.move(temporary, to: name.text, overwriting: false)
    switch response.status {
    case 200, 201, 204: return
    case 412:
      // Stored before, by us (the answer was lost) or by somebody who had the same bytes.
      guard !(try await isHeld(body, at: name, replacing: replacing)) else { return try await discard(temporary) }
      guard replacing else { throw .taken(name) }
      try await overwrite(name, by: temporary)
    case 403, 404, 409, 500:
      // Servers answer with any of these when the collection is missing.
      collections.forget()
      throw retryable(response, "\(name) could not get its name at \(traits.location)")
    default: throw requests.error(response, "\(name) could not get its name at \(traits.location)", for: .write)
    }
  }

  private func overwrite(_ name: ObjectName, by temporary: String) async throws(StoreError) {
    let response = try await requests.move(temporary, to: name.text, overwriting: true)
    guard [200, 201, 204].contains(response.status) else {
      throw requests.error(response, "\(name) could not be replaced at \(traits.location)", for: .write)
    }
  }

  private func discard(_ temporary: String) async throws(StoreError) {
    _ = try await requests.send("DELETE", temporary)
  }

  /// Of what was just stored, once the server is done with it.
  /// - Parameter object: what it is to be, where it has another name.
  /// - Throws: `.badAnswer` when it is not there.
  private func finishedSize(of name: ObjectName, for object: ObjectName? = nil) async throws(StoreError) -> Int {
    let size = try await Unfinished.outwait(on: clock) { () async throws(StoreError) in try await head(name)?.size }
    guard let size else { throw takenAway(object ?? name) }
    return size
  }

  /// No outage to be waited for: the next upload is taken away most likely, too.
  private func takenAway(_ name: ObjectName) -> StoreError {
    StoreError(
      .badAnswer, "\(name) was taken at \(traits.location), and is not there",
      hint: "Look at what checks uploads on the server: a virus scanner, a quarantine, a rule that moves files.",
      retry: .later(after: nil))
  }

  /// Nextcloud and ownCloud say so of a body that was cut on its way, which is worth another try. A request that a
  /// server does not understand looks the same, and is no outage to be waited for: hence the code.
  private func notTaken(_ name: ObjectName) -> StoreError {
    let why = "it did not arrive whole, or the server does not understand the request (status 400)"
    return StoreError(
      .badAnswer, "\(name) could not be stored at \(traits.location): \(why)", retry: .later(after: nil))
  }

  /// The status's own meaning, but worth another try, in which missing collections are made.
  private func retryable(_ response: HTTPResponse, _ what: String) -> StoreError {
    var error = requests.error(response, what, for: .write)
    if response.status != 403 { error.code = .unavailable }
    if [.never, .once].contains(error.retry) { error.retry = .later(after: nil) }
    return error
  }

  /// A GET was answered with 404. That counts when PROPFIND bears it out: what was stored a moment ago is not lost, and
  /// what a server lists and does not give may be given again, as by IIS; Nextcloud says so of a file that its disk lost.
  /// - Throws: `.unreadable` when the object is listed; `.noTarget`.
  private func confirmAbsence(of name: ObjectName) async throws(StoreError) {
    guard try await head(name) != nil else { return }
    throw StoreError(
      .unreadable, "\(traits.location) said that there is no \(name), and lists it",
      hint:
        "On IIS, give the site the MIME type application/octet-stream for names without an extension (`.`); else look"
        + " whether the server has lost the file itself, and for a proxy on the way.",
      retry: .once)
  }

  /// What is listed and not given is not: whoever may replace it can mend it.
  /// - Throws: `.unreadable` for such an object that must not be replaced: nobody knows whether it holds other bytes.
  private func isHeld(_ body: ObjectBody, at name: ObjectName, replacing: Bool) async throws(StoreError) -> Bool {
    guard try await head(name)?.size == body.bytes.count else { return false }
    do {
      return sameBytes(try await get(name, range: nil), body.bytes)
    } catch  where error.isLoss {
      if !replacing, error.code == .unreadable { throw error }
      return false
    }
  }

  /// The name is taken: fine when by the very same bytes.
  private func compare(_ body: ObjectBody, with name: ObjectName) async throws(StoreError) {
    guard try await isHeld(body, at: name, replacing: false) else { throw .taken(name) }
  }

  /// What a listing saw in one collection.
  private struct Look: Sendable {
    var objects: [ObjectInfo] = []
    /// Their paths, each with `/` at its end.
    var collections: [String] = []
  }

  /// What these collections hold, in their order. The first error ends the others.
  /// - Parameter listed: objects that were found before.
  private func looks(
    into paths: [String], for prefix: String, besides listed: Int
  ) async throws(StoreError) -> [Look] {
    let all = await withTaskGroup(
      of: (Int, Result<Look, StoreError>).self, returning: Result<[Look], StoreError>.self
    ) { group in
      var looks = [Look](repeating: Look(), count: paths.count)
      var (next, listed) = (0, listed)
      while next < min(max(1, traits.concurrency), paths.count) {
        let index = next
        group.addTask { (index, await outcome(of: paths[index], for: prefix)) }
        next += 1
      }
      for await (index, result) in group {
        switch result {
        case .success(let look):
          looks[index] = look
          listed += look.objects.count + look.collections.count
        case .failure(let error):
          group.cancelAll()
          return .failure(error)
        }
        guard listed <= mostListed else {
          group.cancelAll()
          return .failure(tooLong(prefix))
        }
        guard next < paths.count else { continue }
        let following = next
        group.addTask { (following, await outcome(of: paths[following], for: prefix)) }
        next += 1
      }
      return .success(looks)
    }
    return try all.get()
  }

  private func tooLong(_ prefix: String) -> StoreError {
    StoreError(
      .badAnswer, "\(traits.location) lists more than \(mostListed) objects, which are more than can be held",
      hint: LongestListing.wayOut(prefix))
  }

  private func outcome(of path: String, for prefix: String) async -> Result<Look, StoreError> {
    do throws(StoreError) { return .success(try await look(into: path, for: prefix)) } catch { return .failure(error) }
  }

  private func look(into path: String, for prefix: String) async throws(StoreError) -> Look {
    var look = Look()
    // Gone since its parent was read, or never there.
    guard let children = try await there({ () async throws(StoreError) in try await children(of: path) }) else {
      return look
    }
    for child in children {
      let text = path + child.name
      guard let name = ObjectName(text), text.hasPrefix(prefix) || prefix.hasPrefix(text + "/") else { continue }
      // Our own leftovers, unless asked for.
      if text == "tmp", !prefix.hasPrefix("tmp") { continue }
      if let size = child.size {
        look.objects.append(ObjectInfo(name: name, size: size, stored: child.stored))
      } else {
        look.collections.append(text + "/")
      }
    }
    return look
  }

  /// What is not there, though the target is, is asked for once more: a proxy that has no server behind it for a moment says
  /// 404, too, and a listing that is short must not pass for a whole one.
  private func there<Answer: Sendable>(
    _ ask: () async throws(StoreError) -> Answer?
  ) async throws(StoreError) -> Answer? {
    if let answer = try await ask() {
      collections.noteTarget()
      return answer
    }
    try await collections.confirmTarget()
    return try await ask()
  }

  /// `nil` when there is no such collection.
  private func children(of path: String) async throws(StoreError) -> [CollectionListing.Child]? {
    guard let answer = try await requests.find(path, depth: 1) else { return nil }
    let address = requests.configuration.address
    do {
      let segments = try CollectionListing.place(of: "\(address.path)/\(path)", at: address).path
      return try CollectionListing(answer, of: segments, at: address).children
    } catch { throw requests.refused(error, path) }
  }
}
