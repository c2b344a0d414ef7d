/// The canonical description of what a version *is*: its hash is the version's id (`Docs/Format.md` §6.1).
package struct Core: Sendable, Equatable {
  package enum Method: UInt8, Sendable {
    case vacuum = 1
    case pages = 2
    case file = 3
    case atomic = 4

    /// These hold a database image; the others one opaque file.
    var hasImage: Bool { self == .vacuum || self == .pages }
  }

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The database's own check failed when it was taken.
    package static let damaged = Flags(rawValue: 1)
    /// The check needs something of the application.
    package static let notCheckable = Flags(rawValue: 2)
    package static let freePagesKept = Flags(rawValue: 4)
    static let known: Flags = [.damaged, .notCheckable, .freePagesKept]
  }

  package let chain: ChainID
  /// Counts from 1 along the chain.
  package let sequence: UInt64
  /// Core hash of the version before; zeros for the first.
  package let previous: Digest
  /// Milliseconds since 1970 UTC.
  package let time: UInt64
  package let host: String
  package let database: String
  package let method: Method
  package let flags: Flags
  /// The database first.
  package let members: [Member]

  package init(
    chain: ChainID, sequence: UInt64, previous: Digest, time: UInt64, host: String, database: String, method: Method,
    flags: Flags, members: [Member]
  ) {
    self.chain = chain
    self.sequence = sequence
    self.previous = previous
    self.time = time
    self.host = host
    self.database = database
    self.method = method
    self.flags = flags
    self.members = members
  }

  /// Whether these members hold the same content under the same paths, and may be read by the same people; times do not count,
  /// nor does the mode of a database, which comes back as its owner's alone.
  package func hasContent(of others: [Member]) -> Bool {
    members.count == others.count
      && zip(members, others).allSatisfy { own, other in
        own.path.utf8.elementsEqual(other.path.utf8) && own.content == other.content
          && (own.mode == other.mode || own.isImage)
      }
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(chain.bytes)
    writer.write(sequence)
    writer.write(previous.bytes)
    writer.write(time)
    writer.write(string: host)
    writer.write(string: database)
    writer.write(method.rawValue)
    writer.write(flags.rawValue)
    writer.write(UInt32(members.count))
    for member in members { member.encode(into: &writer) }
    Extensions.encodeNone(into: &writer)
    return writer.bytes
  }

  /// - Throws: `.malformed`, `.unsupported`.
  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "core")
    try reader.expectVersionZero()
    guard let chain = ChainID(try reader.read(count: 16)) else { throw SealError(.malformed, "the core is cut") }
    self.chain = chain
    sequence = try reader.read()
    previous = try reader.readDigest()
    time = try reader.read()
    host = try reader.readString()
    database = try reader.readString()
    let methodByte = try reader.read(UInt8.self)
    let flags = Flags(rawValue: try reader.read())
    guard let method = Method(rawValue: methodByte), flags.isSubset(of: .known) else {
      throw SealError(
        .unsupported, "the version was made in a way this program does not know", hint: "Install a newer sealift.")
    }
    self.method = method
    self.flags = flags
    let count = try reader.readCount(UInt32.self, ofAtLeast: 15)
    guard Self.isName(host), Self.isName(database) else {
      throw SealError(.malformed, "the core names no host, or no database")
    }
    guard sequence > 0, (sequence == 1) == (previous == .zero), (1...1_000_000).contains(count) else {
      throw SealError(.malformed, "the core is impossible")
    }
    var members: [Member] = []
    for _ in 0..<count { members.append(try Member(&reader)) }
    try Self.check(members, method)
    self.members = members
    try Extensions.skip(&reader)
    try reader.expectEnd()
  }

  /// Host and database name are joined by zero bytes to make a chain id, so they hold none.
  private static func isName(_ text: String) -> Bool { !text.isEmpty && !text.utf8.contains(0) }

  private static func check(_ members: [Member], _ method: Method) throws(SealError) {
    guard Set(members.map { Array($0.path.utf8) }).count == members.count else {
      throw SealError(.malformed, "two members have one path")
    }
    let leaves = Set(members.lazy.filter { $0.content != .folder }.map { Array($0.path.utf8) })
    for member in members where member.isBelow(leaves) {
      throw SealError(.malformed, "a member lies below one that is no folder")
    }
    let images = members.filter(\.isImage)
    let fits = method.hasImage ? images.count == 1 && members[0].isImage : images.isEmpty && members[0].file != nil
    guard fits else { throw SealError(.malformed, "the first member is not the database, or not alone") }
    guard !members[0].path.utf8.contains(UInt8(ascii: "/")) else {
      throw SealError(.malformed, "the path of the database is more than a file name")
    }
  }
}
