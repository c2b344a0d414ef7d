import Sealing
import Storage

/// The objects that open a repository: its file, and slots, keyrings and configurations, each of which lies there twice.
struct OpeningObjects {
  static let hint = "`sealift repair` stores it anew from the copy that is whole."

  let repository: Repository
  private(set) var findings: [CheckFinding] = []
  private(set) var unknown = 0
  /// By the hash of their bytes: those of which fewer than two copies are whole, with the bytes of one that is.
  private(set) var lacking: [(prefix: String, bytes: [UInt8])] = []
  private(set) var lacksFile = false
  /// What was found in objects that lie there twice, with the hash of their bytes.
  private var flaws: [(prefix: String, digest: Digest, finding: CheckFinding)] = []
  /// Copies that a later program wrote.
  private var later: [NumberedName] = []

  init(of repository: Repository) { self.repository = repository }

  /// Damage that no repair can mend, as nothing whole is left to store anew.
  var unmendable: [CheckFinding] {
    let mendable = Set(lacking.map { [$0.prefix, Digest.sha256(of: $0.bytes).hex] })
    return flaws.filter { flaw in
      let isBroughtBack = flaw.prefix == Layout.configurations && repository.remembersConfiguration
      return flaw.finding.isDamage && !isBroughtBack && !mendable.contains([flaw.prefix, flaw.digest.hex])
    }.map { flaw in
      let finding = flaw.finding
      // What is of a later format stands above it.
      guard finding.hint == Self.hint else { return finding }
      return CheckFinding(finding.object, finding.kind, finding.what, hint: "Install a newer sealift.")
    }
  }

  mutating func look() async throws {
    try await lookAtFile()
    for prefix in [Layout.slots, Layout.keyrings, Layout.configurations] { try await lookAtCopies(below: prefix) }
    let isTold = findings.contains { $0.isDamage && $0.object.hasPrefix(Layout.configurations) }
    if repository.lacksConfiguration, !isTold {
      let what = "the sealed configuration is missing"
      note(CheckFinding(Layout.configurations, .missing, what, hint: wayOut(below: Layout.configurations)))
    }
  }

  private mutating func lookAtFile() async throws {
    let expected = RepositoryFile(repository: repository.id).encode()
    let name = RepositoryFileName(repository: repository.id, length: expected.count, digest: .sha256(of: expected))
    for info in try await repository.store.list(prefix: Layout.repositories) where RepositoryFileName(info.name) == nil
    {
      unknown += 1
    }
    var unread: StoreError?
    let bytes = try await repository.store.present(name.objectName, &unread)
    guard bytes != expected else { return }
    lacksFile = true
    let hint = "`sealift repair` stores it anew."
    if let unread {
      let what = "the repository file cannot be read: \(unread.message)"
      return note(CheckFinding(name.objectName, .damaged, what, hint: hint))
    }
    switch bytes?.count {
    case nil: note(CheckFinding(name.objectName, .missing, "the repository file is missing", hint: hint))
    case expected.count: note(CheckFinding(name.objectName, .damaged, "the repository file is damaged", hint: hint))
    default: note(CheckFinding(name.objectName, .cut, "the repository file is cut", hint: hint))
    }
  }

  private mutating func lookAtCopies(below prefix: String) async throws {
    let listed = try await repository.store.list(prefix: prefix)
    var copies: [Digest: [NumberedName]] = [:]
    var sizes: [NumberedName: Int] = [:]
    for info in listed {
      guard let name = NumberedName(info.name, prefix: prefix) else {
        unknown += 1
        continue
      }
      copies[name.digest, default: []].append(name)
      sizes[name] = info.size
    }
    let counting = try await counting(Array(sizes.keys), sizes)
    // Whichever copy of it could be opened: a raced init left others under the same numbers.
    let highest = counting.flatMap { copies[$0.digest]?.map(\.number).max() }
    for (digest, names) in copies.sorted(by: { $0.key < $1.key }) {
      // What was replaced since is of no use: stored again, it would be the newest.
      if let counting, let highest, digest != counting.digest, names.allSatisfy({ $0.number <= highest }) { continue }
      let isNeeded = counting.map { $0.digest == digest } ?? true
      try await lookAtCopies(names.sorted { $0.number < $1.number }, sizes, isNeeded: isNeeded)
    }
    // Stored anew, it would stand above what counts for a later program.
    if let counting, later.contains(where: { $0.prefix == prefix && $0.number > counting.number }) {
      lacking.removeAll { $0.prefix == prefix }
    }
  }

  /// The keyring that opened the repository, and the newest authentic configuration: the only ones that count. Slots count
  /// all of them: `nil`.
  private func counting(_ names: [NumberedName], _ sizes: [NumberedName: Int]) async throws -> NumberedName? {
    guard let prefix = names.first?.prefix, prefix != Layout.slots else { return nil }
    if prefix == Layout.keyrings, let keyring = repository.keyring { return keyring }
    for name in NumberedName.newestFirst(names) where sizes[name] == name.length {
      let bytes = try await repository.store.left(of: name.objectName)
      if let bytes, try flaw(of: bytes, name) == nil { return name }
    }
    return nil
  }

  /// - Parameters:
  ///   - names: of objects that hold, or held, the same bytes.
  ///   - isNeeded: it opens the repository, and must lie there twice.
  private mutating func lookAtCopies(
    _ names: [NumberedName], _ sizes: [NumberedName: Int], isNeeded: Bool
  ) async throws {
    var whole: [UInt8]?
    var wholeCount = 0
    var broken: [(name: NumberedName, kind: CheckFinding.Kind)] = []
    for name in names {
      guard sizes[name] == name.length else {
        broken.append((name, .cut))
        continue
      }
      let bytes = try await repository.store.left(of: name.objectName)
      var kind: CheckFinding.Kind? = .damaged
      if let bytes { kind = try flaw(of: bytes, name) }
      switch kind {
      case nil:
        // What an init left that was interrupted, or ran at the same time, opens nothing here.
        if let bytes, isOfAnother(bytes, name) { return }
        whole = bytes
        wholeCount += 1
      case .later:
        later.append(name)
        note(CheckFinding.later(name.objectName, Self.title(name.prefix)))
      case let kind?: broken.append((name, kind))
      }
    }
    let isLacking = wholeCount < 2
    for (name, kind) in broken {
      let what = kind == .cut ? "is cut" : "is damaged"
      let hint = whole == nil ? wayOut(of: name) : Self.hint
      let finding = CheckFinding(
        name.objectName, isLacking ? kind : .spare, "\(Self.title(name.prefix)) \(what)", hint: isLacking ? hint : nil)
      flaws.append((name.prefix, name.digest, finding))
      note(finding)
    }
    guard isNeeded, isLacking, let whole else { return }
    lacking.append((names[0].prefix, whole))
    if names.count == 1 {
      let other = Self.twin(of: names[0]).objectName
      let finding = CheckFinding(
        other, .missing, "\(Self.title(names[0].prefix)) has only one copy", hint: Self.hint)
      flaws.append((names[0].prefix, names[0].digest, finding))
      note(finding)
    }
  }

  /// What is wrong with the bytes of a copy; `nil` when it is authentic.
  private func flaw(of bytes: [UInt8], _ name: NumberedName) throws -> CheckFinding.Kind? {
    guard Digest.sha256(of: bytes) == name.digest else { return .damaged }
    do {
      switch name.prefix {
      case Layout.slots: _ = try KeySlot.describe(bytes)
      case Layout.configurations:
        _ = try OpenedObject.open(bytes, kind: .configuration, name: nil, keys: repository.keys)
      // Only who opened the repository had the key to them.
      case Layout.keyrings: if let error = repository.strangeKeyrings[name] { throw error }
      default: break
      }
      return nil
    } catch {
      guard error.isDamage else { throw error }
      return error.isLater ? .later : .damaged
    }
  }

  private func isOfAnother(_ bytes: [UInt8], _ name: NumberedName) -> Bool {
    guard name.prefix == Layout.slots, let description = try? KeySlot.describe(bytes) else { return false }
    return description.repository != repository.id
  }

  /// The other name of a pair: they are written under consecutive numbers, the first one odd.
  static func twin(of name: NumberedName) -> NumberedName {
    let number = name.number % 2 == 1 ? name.number + 1 : name.number - 1
    return NumberedName(prefix: name.prefix, number: number, length: name.length, digest: name.digest)
  }

  /// What to do where no copy is whole.
  private func wayOut(of name: NumberedName) -> String {
    guard name.prefix == Layout.slots else { return wayOut(below: name.prefix) }
    return
      "Whoever opens with that key is locked out: add it again with `sealift key add`; then `sealift key remove \(KeySlots.id(of: name))`."
  }

  private func wayOut(below prefix: String) -> String {
    prefix == Layout.configurations && repository.remembersConfiguration
      ? "`sealift repair` on this machine writes it back, as it remembers it."
      : "Bring it back from a copy of the target."
  }

  private static func title(_ prefix: String) -> String {
    switch prefix {
    case Layout.slots: "a key slot"
    case Layout.keyrings: "a keyring"
    default: "the sealed configuration"
    }
  }

  private mutating func note(_ finding: CheckFinding) { findings.append(finding) }
}
