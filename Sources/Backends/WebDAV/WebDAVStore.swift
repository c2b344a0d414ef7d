package import Storage

/// Objects as files of a WebDAV server.
///
/// Many servers show a file while it is still coming in, or keep the half of it when the line is cut. So an object
/// goes to `tmp/` first, and gets its name by MOVE when its size is right.
package struct WebDAVStore: ObjectStore {
  package let traits: StoreTraits
  let requests: WebDAVRequests
  let collections: Collections
  let clock: StoreClock
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

  /// What is not there, though the target is, is asked for once more: a proxy that has no server behind it for a moment says
  /// 404, too, and a listing that is short must not pass for a whole one.
  func there<Answer: Sendable>(
    _ ask: () async throws(StoreError) -> Answer?
  ) async throws(StoreError) -> Answer? {
    if let answer = try await ask() {
      collections.noteTarget()
      return answer
    }
    try await collections.confirmTarget()
    return try await ask()
  }
}
