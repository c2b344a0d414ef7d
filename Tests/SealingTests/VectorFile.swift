import FoundationEssentials

@testable import Sealing

/// One vector: what is read, with which keys, and how that must end. `Vectors/README.md` describes the files.
struct Vector {
  let name: String
  /// `success`, or one of the failures of the format.
  var expect: String
  let about: String
  /// A kind of object, `slot`, `repository file` or `recovery key`.
  let kind: String
  let bytes: [UInt8]
  /// What the object is called, where that is checked too.
  var objectName: Digest?
  /// Packs that delta frames rest on.
  var bases: [[UInt8]] = []
  /// For slots: `passphrase`, `key file` or `recovery key`, and its bytes.
  var secret: (kind: String, bytes: [UInt8])?
  /// SHA-256 of everything read: units in order, then the meta; a slot's master key; a recovery key's bytes.
  var content: Digest?

  static let failures: [String: SealError.Code] = [
    "wrong key": .wrongKey, "damaged": .damaged, "truncated": .truncated, "unsupported": .unsupported,
    "malformed": .malformed,
  ]

  var kinds: ObjectKind? { ObjectKind.allCases.first { "\($0)" == kind } }
}

extension Vector {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".txt") }
      .map { String($0.dropLast(4)) }.sorted()
  }

  func write() throws {
    var lines = ["expect: \(expect)", "about: \(about)", "kind: \(kind)", "repository: \(Fixed.repository.hex)"]
    if kinds != nil {
      lines.append("master: \(Hex.encode(Fixed.master.bytes))")
      lines.append("keyring: \(Hex.encode(Fixed.keyring.encode()))")
    }
    if let objectName { lines.append("name: \(objectName.hex)") }
    if let secret { lines.append("\(secret.kind): \(Hex.encode(secret.bytes))") }
    if let content { lines.append("content: \(content.hex)") }
    for part in [bytes] + bases {
      lines.append("")
      lines += stride(from: 0, to: part.count, by: 64).map { Hex.encode(part[$0..<min($0 + 64, part.count)]) }
    }
    let file = Self.folder.appending(path: "\(name).txt")
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
  }

  init(named name: String) throws {
    let text = String(decoding: try Data(contentsOf: Self.folder.appending(path: "\(name).txt")), as: UTF8.self)
    let parts = text.split(separator: "\n\n", omittingEmptySubsequences: false).map { $0.split(separator: "\n") }
    var fields: [Substring: String] = [:]
    for line in parts[0] {
      let colon = line.firstIndex(of: ":")!
      fields[line[..<colon]] = String(line[colon...].dropFirst(2))
    }
    let objects = parts.dropFirst().map { Hex.decode($0.joined())! }
    let kind = fields["kind"]!
    self.init(
      name: name, expect: fields["expect"]!, about: fields["about"]!, kind: kind, bytes: objects.first ?? [],
      objectName: fields["name"].flatMap { Digest(Hex.decode($0)!) }, bases: Array(objects.dropFirst()),
      content: fields["content"].flatMap { Digest(Hex.decode($0)!) })
    for secret in ["passphrase", "key file", "recovery key"] {
      if let bytes = fields[Substring(secret)] { self.secret = (secret, Hex.decode(bytes)!) }
    }
    // The file says with which keys it is read; these are the keys of the tests.
    precondition(fields["repository"] == Fixed.repository.hex)
    precondition(kinds == nil || fields["keyring"] == Hex.encode(Fixed.keyring.encode()))
  }

  /// Reads the vector as a program would.
  /// - Returns: everything it holds.
  func read() throws -> [UInt8] {
    switch kind {
    case "keyring":
      return try Keyring.open(bytes, name: objectName, master: Fixed.master, repository: Fixed.repository).encode()
    case "slot": return try KeySlot.open(bytes, secret: slotSecret, repository: Fixed.repository).bytes
    case "repository file": return try RepositoryFile(decoding: bytes).repository.bytes
    case "recovery key": return try RecoveryKey.parse(String(decoding: bytes, as: UTF8.self))
    default: return try Reading.everything(in: bytes, kind: kinds!, name: objectName, bases: bases)
    }
  }

  private var slotSecret: SlotSecret {
    switch secret?.kind {
    case "passphrase": .passphrase(secret!.bytes)
    case "key file": .keyFile(secret!.bytes)
    default: .recoveryKey(secret!.bytes)
    }
  }
}
