import Storage

/// A collection as a server describes it, with every href checked: a server may say what it likes, but only about
/// the collection that was asked for and what lies directly in it.
struct CollectionListing: Sendable {
  /// A file or a collection in it, of a name that could be ours.
  struct Child: Sendable, Equatable {
    var name: String
    /// In bytes; `nil` for a collection.
    var size: Int?
    /// Seconds since 1970 UTC, where the server tells.
    var stored: Int?
  }

  private(set) var children: [Child] = []

  /// - Parameters:
  ///   - segments: the collection's path, decoded.
  /// - Throws: `XMLRefusal` for other hosts than the collection's own, paths that lead away, encoded slashes, resources
  ///   with an error of their own, and when the collection itself is missing in the answer.
  init(_ answer: Multistatus, of segments: [String], at address: WebAddress) throws(XMLRefusal) {
    var names: Set<[UInt8]> = []
    var hasItself = false
    // Servers behind a proxy may write the scheme and host that they see themselves. Then the collection has them, too;
    // of every entry only the path is used.
    var (ownServers, servers) = (Set<String>(), Set<String>())
    for resource in answer.resources {
      if let status = resource.status, !status.contains(" 200") {
        throw XMLRefusal("one of its entries has an error of its own")
      }
      let (path, server, isForeign) = try Self.place(of: resource.href, at: address)
      if let server { servers.insert(server) }
      if isForeign {
        guard path == segments else { throw XMLRefusal("it lists what is not in it") }
        continue
      }
      if path == segments {
        guard resource.isCollection else { throw XMLRefusal("it is no collection") }
        hasItself = true
        if let server { ownServers.insert(server) }
        continue
      }
      guard path.count == segments.count + 1, Array(path.dropLast()) == segments, let name = path.last else {
        throw XMLRefusal("it lists what is not in it")
      }
      guard names.insert(Array(name.utf8)).inserted else { throw XMLRefusal("it lists an entry twice") }
      let stored = resource.modified.flatMap(HTTPTime.seconds)
      // Nobody asks how great it is.
      if ObjectName(name) == nil { continue }
      children.append(Child(name: name, size: try Self.size(of: resource), stored: stored))
    }
    guard hasItself else { throw XMLRefusal("it does not list the collection itself") }
    guard servers.isSubset(of: ownServers) else { throw XMLRefusal("it lists something at another server") }
  }

  /// The decoded segments of an href, which is a path or a whole URL, and the server of a URL that names another one
  /// than the target does. A last segment that is no text is somebody else's file, and not among them.
  static func place(
    of href: String, at address: WebAddress
  ) throws(XMLRefusal) -> (path: [String], server: String?, isForeign: Bool) {
    var path = href[...]
    var server: String?
    if !href.hasPrefix("/") {
      guard let url = try? WebAddress(href) else { throw XMLRefusal("it lists something at another server") }
      if url.scheme != address.scheme || url.authority != address.authority {
        server = "\(url.scheme.rawValue)://\(url.authority)"
      }
      path = href[(href.firstRange(of: "://")?.upperBound ?? href.startIndex)...].drop { $0 != "/" }
    }
    if path.hasPrefix("//") { throw XMLRefusal("it lists something at another server") }
    var segments: [String] = []
    var pieces = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    // Collections end in a slash.
    if pieces.last == "" { pieces.removeLast() }
    let isForeign = pieces.last.map { PercentEncoding.decode($0) == nil } ?? false
    for piece in isForeign ? pieces.dropLast() : pieces {
      guard let segment = PercentEncoding.decode(piece), !segment.contains("/"), !segment.contains("\0"),
        segment != ".", segment != ".."
      else { throw XMLRefusal("it lists a path that leads elsewhere") }
      segments.append(segment)
    }
    guard !segments.contains("") else { throw XMLRefusal("it lists a path that leads elsewhere") }
    return (segments, server, isForeign)
  }

  private static func size(of resource: Multistatus.Resource) throws(XMLRefusal) -> Int? {
    if resource.isCollection { return nil }
    guard let size = resource.size.flatMap({ Int($0) }), size >= 0 else { throw XMLRefusal("a file in it has no size") }
    return size
  }
}
