import Storage

/// What a PROPFIND tells: each resource with its properties.
struct Multistatus: Sendable {
  struct Resource: Sendable {
    var href = ""
    var isCollection = false
    /// In bytes, as written; `nil` when the server tells none.
    var size: String?
    /// When it was changed last, as written.
    var modified: String?
    /// Properties are held back because the server is not done with it: ownCloud Infinite Scale gives all of them the
    /// status 425 until an upload is checked.
    var isUnfinished = false
    /// Of the resource itself, when the server gives one: "HTTP/1.1 404 Not Found".
    var status: String?
    /// Whether every group of properties is said not to be found, and names none; `nil` where there is no group.
    var isBare: Bool?

    /// There is no such resource: said of itself (Cyrus).
    var isAbsent: Bool { status.map { $0.contains(" 404") || $0.contains(" 410") } ?? false }
  }

  var resources: [Resource]

  /// No server may fill this machine's memory. `XMLReader.mostElements` allows ten elements for each.
  static let mostResources = 400_000

  /// The question that it answers.
  static let question =
    #"<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/></prop></propfind>"#

  /// - Throws: `XMLRefusal` when it is no whole multistatus; `.tooManyResources`.
  init(_ body: [UInt8], mostResources: Int = Self.mostResources) throws(XMLRefusal) {
    let document = try XMLReader.read(body, into: Document(mostResources: mostResources))
    guard document.isMultistatus else { throw XMLRefusal("it is no multistatus") }
    resources = document.resources
  }

  private struct Document: XMLReader.Listener {
    var isMultistatus = false
    var resources: [Resource] = []
    /// The names of the elements that are open, from the second on.
    private var open: [String] = []
    /// Properties count only when their own status says that they were found.
    private var pending = Resource()
    private var pendingIsFound = true
    /// Their status says that they were not found.
    private var pendingIsMissing = false
    private var pendingIsEmpty = true
    private let mostResources: Int

    init(mostResources: Int) { self.mostResources = mostResources }

    mutating func began(_ name: XMLName, depth: Int) {
      let local = name.namespace == "DAV:" ? name.local : "\(name.namespace) \(name.local)"
      guard depth > 1 else { return isMultistatus = local == "multistatus" }
      open.append(local)
      switch open {
      case ["response"]: resources.append(Resource())
      case ["response", "propstat"]:
        (pending, pendingIsFound, pendingIsMissing, pendingIsEmpty) = (Resource(), true, false, true)
      case ["response", "propstat", "prop", "resourcetype", "collection"]: pending.isCollection = true
      default: if open.count == 4, open[2] == "prop" { pendingIsEmpty = false }
      }
    }

    mutating func ended(_ name: XMLName, text: String, depth: Int) throws(XMLRefusal) {
      guard let last = resources.indices.last, depth > 1 else { return }
      switch open {
      case ["response"] where resources.count > mostResources: throw .tooManyResources
      case ["response", "href"]: resources[last].href = text.trimmed
      case ["response", "status"]: resources[last].status = text.trimmed
      case ["response", "propstat", "status"]:
        pendingIsFound = text.contains(" 200")
        pendingIsMissing = text.contains(" 404")
        if text.contains(" 425") { resources[last].isUnfinished = true }
      case ["response", "propstat", "prop", "getcontentlength"]: pending.size = text.trimmed
      case ["response", "propstat", "prop", "getlastmodified"]: pending.modified = text.trimmed
      case ["response", "propstat"]:
        resources[last].isBare = resources[last].isBare != false && pendingIsMissing && pendingIsEmpty
        guard pendingIsFound else { break }
        resources[last].isCollection = resources[last].isCollection || pending.isCollection
        resources[last].size = resources[last].size ?? pending.size
        resources[last].modified = resources[last].modified ?? pending.modified
      default: break
      }
      open.removeLast()
    }
  }
}
