import Storage

/// How an object gets to its name: uploaded beside it, looked at, moved.
extension WebDAVStore {
  func upload(_ body: ObjectBody, to temporary: String, for name: ObjectName) async throws(StoreError) {
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

  func move(
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
  func finishedSize(of name: ObjectName, for object: ObjectName? = nil) async throws(StoreError) -> Int {
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
  func compare(_ body: ObjectBody, with name: ObjectName) async throws(StoreError) {
    guard try await isHeld(body, at: name, replacing: false) else { throw .taken(name) }
  }
}
