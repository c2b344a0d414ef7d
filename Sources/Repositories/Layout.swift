package import Sealing
package import Storage

/// Every name in a repository, in one place (`Docs/Format.md` §5).
///
/// Names that a server lists are parsed here and nowhere else; what does not parse is not ours and is passed over.
package enum Layout {
  package static let repositories = "repo/"
  package static let slots = "keys/"
  package static let keyrings = "keyring/"
  package static let configurations = "config/"
  package static let versions = "versions/"
  package static let allTombstones = "tomb/"
  package static let allAnnotations = "notes/"
  package static let allPacks = "packs/"
  static let allCondemned = "gone/"

  package static func versions(of chain: ChainID) -> String { "versions/\(chain.hex)/" }
  package static func packs(of chain: ChainID) -> String { "\(allPacks)\(chain.hex)/" }
  package static func tombstones(of chain: ChainID) -> String { "\(allTombstones)\(chain.hex)/" }
  package static func condemned(of chain: ChainID) -> String { "\(allCondemned)\(chain.hex)/" }
  package static func annotations(of chain: ChainID) -> String { "\(allAnnotations)\(chain.hex)/" }

  package static func pack(_ name: Digest, of chain: ChainID) -> ObjectName {
    known(packs(of: chain) + name.hex)
  }

  /// The digest a listed pack is named by.
  package static func packDigest(_ name: ObjectName) -> Digest? { digest(name.lastComponent) }

  /// The chain that an object lies directly below, whatever it is.
  static func chain(_ name: ObjectName) -> ChainID? {
    let parts = name.text.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 3 ? ChainID(hex: String(parts[1])) : nil
  }

  /// What the name of every object of a repository ends in: the digest of its bytes.
  static func digest(namedBy name: ObjectName) -> Digest? { digest(name.lastComponent.suffix(64)) }

  static func digest(_ text: some StringProtocol) -> Digest? { Hex.decode(text).flatMap { Digest($0) } }

  /// A name that we composed ourselves from digits, hexadecimal and our own prefixes.
  static func known(_ text: String) -> ObjectName {
    guard let name = ObjectName(text) else { preconditionFailure("'\(text)' is no object name") }
    return name
  }

  /// A decimal number as our names write it: digits only.
  static func number<Value: FixedWidthInteger>(_ text: some StringProtocol) -> Value? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Value(text)
  }

  /// A length in a name. None is beyond what an object may have: nobody makes us fetch more than that. None begins with
  /// zeros: we would ask for an object by another name than it has.
  static func length(_ text: some StringProtocol) -> Int? {
    guard text.utf8.count == 1 || text.utf8.first != UInt8(ascii: "0") else { return nil }
    return number(text).flatMap { (length: Int) in length <= Limits.object ? length : nil }
  }

  static func padded(_ value: UInt64, to width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

/// `repo/<id>-<length>-<sha256>`
package struct RepositoryFileName: Sendable, Hashable {
  package let repository: RepositoryID
  package let length: Int
  package let digest: Digest

  package init(repository: RepositoryID, length: Int, digest: Digest) {
    self.repository = repository
    self.length = length
    self.digest = digest
  }

  /// Of the file that every program writes for it.
  init(of repository: RepositoryID) {
    let file = RepositoryFile(repository: repository).encode()
    self.init(repository: repository, length: file.count, digest: .sha256(of: file))
  }

  package init?(_ name: ObjectName) {
    let parts = name.lastComponent.split(separator: "-", omittingEmptySubsequences: false)
    guard name.text.hasPrefix(Layout.repositories), parts.count == 3,
      let repository = RepositoryID(hex: String(parts[0])),
      let length = Layout.length(parts[1]), let digest = Layout.digest(parts[2])
    else { return nil }
    self.init(repository: repository, length: length, digest: digest)
    // What lies further down is nobody's either.
    guard objectName == name else { return nil }
  }

  package var objectName: ObjectName { Layout.known("\(Layout.repositories)\(repository.hex)-\(length)-\(digest.hex)") }
}

/// `keys/<n>-<length>-<sha256>`, and the same below `keyring/` and `config/`.
package struct NumberedName: Sendable, Hashable {
  /// What 12 digits hold. A greater one is nobody's, and counting on from it would lead to names that are never listed.
  static let last: UInt64 = 999_999_999_999

  package let prefix: String
  package let number: UInt64
  package let length: Int
  package let digest: Digest

  package init(prefix: String, number: UInt64, length: Int, digest: Digest) {
    self.prefix = prefix
    self.number = number
    self.length = length
    self.digest = digest
  }

  package init?(_ name: ObjectName, prefix: String) {
    let parts = name.text.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard name.text.hasPrefix(prefix), parts.count == 3, let number: UInt64 = Layout.number(parts[0]),
      (1...Self.last).contains(number),
      let length = Layout.length(parts[1]), let digest = Layout.digest(parts[2])
    else { return nil }
    self.init(prefix: prefix, number: number, length: length, digest: digest)
    // What counts is what we would ask for: no zeros in front.
    guard objectName == name else { return nil }
  }

  package var objectName: ObjectName { Layout.known("\(prefix)\(number)-\(length)-\(digest.hex)") }
}

/// `versions/<chain>/<sequence>-<revision>-<length>-<name>`
package struct VersionName: Sendable, Hashable {
  /// What 12 and 4 digits hold: a manifest beyond that could be written but never be listed.
  static let lastSequence: UInt64 = 999_999_999_999
  static let lastRevision: UInt32 = 9999

  package let chain: ChainID
  package let sequence: UInt64
  package let revision: UInt32
  package let length: Int
  package let digest: Digest

  package init(chain: ChainID, sequence: UInt64, revision: UInt32, length: Int, digest: Digest) {
    self.chain = chain
    self.sequence = sequence
    self.revision = revision
    self.length = length
    self.digest = digest
  }

  package init?(_ name: ObjectName) {
    // By bytes: a listing has a thousand of them.
    let components = name.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard components.count == 3, Substring(components[0]) == "versions",
      let chain = ChainID(hex: String(Substring(components[1])))
    else { return nil }
    let parts = components[2].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).map(Substring.init)
    guard parts.count == 4, parts[0].utf8.count == 12, parts[1].utf8.count == 4,
      let sequence: UInt64 = Layout.number(parts[0]), sequence > 0, let revision: UInt32 = Layout.number(parts[1]),
      let length = Layout.length(parts[2]), let digest = Layout.digest(parts[3])
    else { return nil }
    self.init(chain: chain, sequence: sequence, revision: revision, length: length, digest: digest)
  }

  package var objectName: ObjectName {
    let place = "\(Layout.padded(sequence, to: 12))-\(Layout.padded(UInt64(revision), to: 4))"
    return Layout.known("\(Layout.versions(of: chain))\(place)-\(length)-\(digest.hex)")
  }
}

/// `tomb/<chain>/<length>-<name>`, and the same below `gone/` and `notes/`.
package struct RecordName: Sendable, Hashable {
  package let length: Int
  package let digest: Digest
  package let objectName: ObjectName

  package init?(_ name: ObjectName, prefix: String) {
    let parts = name.text.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard name.text.hasPrefix(prefix), parts.count == 2, let length = Layout.length(parts[0]),
      let digest = Layout.digest(parts[1])
    else { return nil }
    self.length = length
    self.digest = digest
    self.objectName = name
  }
}
