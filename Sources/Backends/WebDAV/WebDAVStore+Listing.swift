import Storage

/// How one level of the target is listed: several collections at once.
extension WebDAVStore {
  /// What a listing saw in one collection.
  struct Look: Sendable {
    var objects: [ObjectInfo] = []
    /// Their paths, each with `/` at its end.
    var collections: [String] = []
  }

  /// What these collections hold, in their order. The first error ends the others.
  /// - Parameter listed: objects that were found before.
  func looks(
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
