import Storage

/// One page of a ListObjectsV2 answer.
struct S3ListingPage: Sendable {
  /// `stored`: seconds since 1970 UTC by the server's clock; `nil` when it cannot be read.
  var objects: [(key: String, size: Int, stored: Int?)] = []
  /// Where the next page begins; `nil` on the last page.
  var next: String?

  /// - Throws: `XMLRefusal` when the page is not whole, or does not say whether there are more.
  init(_ body: [UInt8]) throws(XMLRefusal) {
    let document = try XMLReader.read(body, into: Document())
    guard document.isListing else { throw XMLRefusal("it is no ListBucketResult") }
    switch document.isTruncated {
    case "false": next = nil
    case "true":
      guard let token = document.token, !token.isEmpty else { throw XMLRefusal("it is cut without a way to go on") }
      next = token
    default: throw XMLRefusal("it does not say whether it is cut")
    }
    for entry in document.entries {
      guard let size = Int(entry.size), size >= 0 else { throw XMLRefusal("an object has no size") }
      let key = document.isEncoded ? PercentEncoding.decode(entry.key, plusIsSpace: true) : entry.key
      guard let key, !key.isEmpty else { throw XMLRefusal("a key cannot be decoded") }
      objects.append((key, size, HTTPTime.secondsOfISO(entry.stored)))
    }
  }

  private struct Document: XMLReader.Listener {
    var isListing = false
    var isTruncated: String?
    var token: String?
    var isEncoded = false
    var entries: [(key: String, size: String, stored: String)] = []
    private var isInEntry = false

    mutating func began(_ name: XMLName, depth: Int) {
      if depth == 1 { isListing = name.local == "ListBucketResult" }
      if depth == 2 { isInEntry = name.local == "Contents" }
      if depth == 2, isInEntry { entries.append(("", "", "")) }
    }

    mutating func ended(_ name: XMLName, text: String, depth: Int) {
      switch (depth, name.local) {
      case (2, "IsTruncated"): isTruncated = text.trimmed
      case (2, "NextContinuationToken"): token = text
      case (2, "EncodingType"): isEncoded = text.trimmed == "url"
      case (3, "Key") where isInEntry: entries[entries.count - 1].key = text
      case (3, "Size") where isInEntry: entries[entries.count - 1].size = text.trimmed
      case (3, "LastModified") where isInEntry: entries[entries.count - 1].stored = text.trimmed
      default: break
      }
    }
  }
}

/// All pages of a listing, put together; refuses what would make it endless or short.
struct S3Listing {
  private let configuration: S3Configuration
  private let prefix: String
  private var found: [ObjectName: ObjectInfo] = [:]
  private var tokens: Set<String> = []
  private var pagesWithoutNews = 0
  private var pages = 0

  /// Pages in all, of mostly a thousand keys, after which a listing is taken for endless.
  private let mostPages: Int
  private let mostObjects: Int
  /// Pages in a row without a new object after which a listing is taken for endless. A server may well have many:
  /// each deletion in a bucket that keeps versions leaves a marker, and a page may have nothing else.
  private let mostPagesWithoutNews: Int
  /// The same in time: each page may be minutes in the making.
  private let longestWithoutNews = Duration.seconds(60 * 60)
  private let clock: StoreClock
  private var lastNews: Duration

  /// - Parameter prefix: of names, without the target's own prefix.
  init(
    _ configuration: S3Configuration, prefix: String, mostPages: Int = 50_000,
    mostPagesWithoutNews: Int = 5_000, mostObjects: Int = LongestListing.objects, clock: StoreClock = .system
  ) {
    self.clock = clock
    lastNews = clock.now()
    self.mostPages = mostPages
    self.mostPagesWithoutNews = mostPagesWithoutNews
    self.mostObjects = mostObjects
    self.configuration = configuration
    self.prefix = prefix
  }

  var objects: [ObjectInfo] { Array(found.values) }

  mutating func add(_ page: S3ListingPage) throws(XMLRefusal) {
    let expected = configuration.key(prefix)
    let before = found.count
    var hasForeign = false
    for object in page.objects {
      guard object.key.utf8.starts(with: expected.utf8) else {
        throw XMLRefusal("a key is listed that was not asked for")
      }
      // Keys that are no names of ours belong to somebody else.
      if let name = configuration.name(object.key).flatMap(ObjectName.init) {
        found[name] = ObjectInfo(name: name, size: object.size, stored: object.stored)
      } else {
        hasForeign = true
      }
    }
    guard found.count <= mostObjects else { throw .tooManyResources }
    let now = clock.now()
    let hasNews = found.count > before || hasForeign
    pagesWithoutNews = hasNews ? 0 : pagesWithoutNews + 1
    if hasNews { lastNews = now }
    guard let token = page.next else { return }
    guard tokens.insert(token).inserted else { throw XMLRefusal("it goes round in a circle") }
    pages += 1
    guard pagesWithoutNews <= mostPagesWithoutNews, pages < mostPages, now - lastNews <= longestWithoutNews else {
      throw .endless
    }
  }
}
