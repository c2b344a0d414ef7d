/// The code's view of a target: a flat namespace of immutable, named byte strings.
///
/// Everything remote stands behind this door. A store knows nothing of databases, versions or keys: it sees
/// opaque bytes under names. What every store must promise (`Docs/Stores.md` says it for people, `StoreContract` tries
/// it: in the tests, and as `sealift doctor` at a person's own target):
///
/// - A `put` that returned is readable, complete, under that name.
/// - A partial object is never visible under its name, whatever was killed or cut.
/// - `list` may be asked for any prefix and returns every object whose `put` had returned before the listing
///   began. A listing that could not be read to its end is an error, never a short answer.
/// - Names are opaque. Objects are small enough (at most 64 MiB) to be held in memory, so every retry is a rewind.
///
/// There are six members. Conveniences are extensions, so that no wrapper can forget to forward one.
package protocol ObjectStore: Sendable {
  /// What this store can do, and how it is called in messages (never with secrets).
  var traits: StoreTraits { get }

  /// Stores `body` under `name` and returns when it is durable and complete (the size was checked).
  ///
  /// Storing the same bytes under the same name again succeeds and changes nothing that can be seen.
  /// - Parameter ifAbsent: must not replace an object that is already there; where the store has no such
  ///   primitive (`traits.conditionalPut` is false) the check is made by looking first, and may race.
  /// - Throws: `StoreError` with `.exists` when `ifAbsent` and the name is taken by other bytes.
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError)

  /// The bytes of an object, or of the part `range` (in bytes, half-open).
  ///
  /// A store whose server ignores ranges must still return exactly the bytes asked for.
  /// - Throws: `.notFound`; `.badRange` when the range does not lie inside the object.
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8]

  /// Size of an object, or `nil` when there is none. Absence is never an error here, an error never absence.
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo?

  /// All objects whose name begins with `prefix`, in any order, each once, with the store's own leftovers
  /// (such as `tmp/`) included only when the prefix asks for them. An empty prefix lists everything.
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo]

  /// Deletes the object. Deleting what is not there succeeds.
  func delete(_ name: ObjectName) async throws(StoreError)
}

/// What a store can do. Decided when it is built, by the kind of target, never by guesses at a vendor's name.
package struct StoreTraits: Sendable {
  /// How people know it: `s3://bucket/prefix`, `webdavs://host/path`, `file:///path`; without any secret.
  package var location: String
  /// What tells it from every other store, without any secret: two servers may have a bucket of the same name, and two
  /// users see different things at one address. What is remembered of a store is kept under this.
  package var identity: String
  /// The same for whoever asks there, by whatever way: what is harmed is harmed for every user.
  package var place: String
  /// How many requests at once make sense.
  package var concurrency: Int
  /// `put(ifAbsent: true)` is decided by the server, in one step.
  package var conditionalPut: Bool
  /// A listing shows what was stored before it began, by the nature of the place. Everywhere it is promised; where it is
  /// not in the nature of the place, `doctor` has to see it before a prune relies on it within one run.
  package var listsAtOnce: Bool
  /// To ask costs next to nothing, and what is mounted there may change at any time.
  package var isLocal: Bool
  /// Where the objects are files that this machine sees: the absolute path of their folder.
  package var folder: String?
  /// What became known of deletions while it was used.
  package let hidden = HiddenObjects()

  /// - Parameters:
  ///   - identity: where the location does not say it all.
  ///   - place: where the identity says who asks, or which way was taken.
  package init(
    location: String, identity: String? = nil, place: String? = nil, concurrency: Int, conditionalPut: Bool,
    listsAtOnce: Bool = false, isLocal: Bool = false, folder: String? = nil
  ) {
    self.location = location
    self.identity = identity ?? location
    self.place = place ?? self.identity
    self.isLocal = isLocal
    self.folder = folder
    self.concurrency = concurrency
    self.conditionalPut = conditionalPut
    self.listsAtOnce = listsAtOnce
  }
}

extension ObjectStore {
  /// - Throws: `.badAnswer` when an object that was deleted is still there; it may be gone in a while.
  package func demandGone(_ name: ObjectName) async throws(StoreError) {
    guard try await head(name) != nil else { return }
    throw StoreError(
      .badAnswer, "\(traits.location) said that \(name) is deleted, and has it still",
      hint: "Do the same again in a while. If that does not help, look for a proxy or a portal on the way.",
      retry: .later(after: nil))
  }
}

/// An object as a listing shows it.
package struct ObjectInfo: Sendable, Hashable {
  package var name: ObjectName
  /// In bytes.
  package var size: Int
  /// When it was stored, in seconds since 1970 UTC by the store's own clock; `nil` where it does not tell. A hint and
  /// nothing more: clocks are wrong, so it is no part of what makes two of these equal.
  package var stored: Int?

  package init(name: ObjectName, size: Int, stored: Int? = nil) {
    self.name = name
    self.size = size
    self.stored = stored
  }

  package static func == (left: Self, right: Self) -> Bool { left.name == right.name && left.size == right.size }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(size)
  }
}

/// What is to be stored: bytes, and their SHA-256 where it is known already (S3 signs it).
package struct ObjectBody: Sendable {
  /// No object is larger, in bytes: what every store must be able to hold in memory and to take in one piece.
  package static let largest = 64 << 20

  package let bytes: [UInt8]
  /// 32 bytes.
  package let sha256: [UInt8]?

  package init(_ bytes: [UInt8], sha256: [UInt8]? = nil) {
    self.bytes = bytes
    self.sha256 = sha256
  }
}
