package import Sealing
import Storage

/// What was said of versions after they were pushed (`Docs/Format.md` §8.3).
package struct Annotations: Sendable {
  /// A version, as who speaks of it names it. The hash alone would do, were it not for cuts of the keyring: with a retired
  /// key, and a place before the cut, anybody could speak of a version behind it.
  package struct Subject: Hashable, Sendable {
    package let sequence: UInt64
    package let id: Digest

    package init(sequence: UInt64, id: Digest) {
      self.sequence = sequence
      self.id = id
    }
  }

  /// One item, and when it was said: milliseconds since 1970 UTC.
  package typealias Said = (time: UInt64, item: Annotation.Item)

  /// By version, oldest first; of equal times the one of the lesser object name is the older one.
  private let said: [Subject: [Said]]
  /// Places of versions that are pinned.
  private(set) var pinnedPlaces: Set<UInt64> = []
  /// The annotations that take tombstones back.
  let unforgetting: [(name: RecordName, annotation: Annotation)]

  /// Of some that are listed in their full length and cannot be read nobody knows what they say; `nil` where there are none.
  /// Those of a later format are passed over.
  package fileprivate(set) var unread: RepositoryError?
  /// Versions that were found damaged, as this machine has said or read, by words that are not listed.
  fileprivate var missedDamage: Set<Digest> = []

  package static let none = Annotations([])

  /// Everything that was said of a version, oldest first.
  package func all(of version: VersionFacts) -> [Said] { said[version.subject] ?? [] }

  /// The tags of a version: those it was pushed with, and what was added and removed since. As every reader of the format
  /// does, by bytes: of two that look alike each is one.
  package func tags(of version: VersionFacts, pushedWith tags: [String]) -> [String] {
    var tags = tags
    for (_, item) in said[version.subject] ?? [] {
      switch item.kind {
      case .addTag where !tags.containsName(item.text): tags.append(item.text)
      case .removeTag: tags.removeAll { $0.isSameName(as: item.text) }
      default: continue
      }
    }
    return tags
  }

  /// The note of a version: the last one given.
  package func note(of version: VersionFacts, pushedWith note: String) -> String {
    last(.note, of: version.subject)?.item.text ?? note
  }

  /// Whether a version is pinned: never forgotten by a rule.
  package func isPinned(_ version: VersionFacts) -> Bool { isPinned(version.subject) }

  private func isPinned(_ version: Subject) -> Bool {
    said[version]?.last { $0.item.kind == .pin || $0.item.kind == .unpin }?.item.kind == .pin
  }

  /// The last thing of a kind that was said of a version.
  private func last(_ kind: Annotation.Kind, of version: Subject) -> Said? {
    said[version]?.last { $0.item.kind == kind }
  }

  /// A time at which what is said now of a version counts, also when the clock has gone back since the last word.
  /// - Parameter now: milliseconds since 1970 UTC.
  package func time(for version: VersionFacts, now: UInt64) -> UInt64 {
    max(now, (said[version.subject]?.last?.time).map { $0 == .max ? $0 : $0 + 1 } ?? 0)
  }

  /// What the last drill of a version came to.
  package func drill(of version: VersionFacts) -> DrillResult? { drill(of: version.subject) }

  private func drill(of version: Subject) -> DrillResult? {
    // One that is no result says nothing, and takes nothing back.
    let result = said[version]?.last { DrillResult($0.item, time: $0.time) != nil }
    return result.flatMap { DrillResult($0.item, time: $0.time) }
  }

  /// What the last drill of any version came to, also of one that is gone: what was said stays. What was said by a clock
  /// ahead of this one is believed where nothing else was said.
  /// - Parameters:
  ///   - versions: those that are there: what names another place for one of them says nothing.
  ///   - now: milliseconds since 1970 UTC.
  package func lastDrill(among versions: [VersionFacts], now: UInt64) -> (version: Digest, result: DrillResult)? {
    let places = Dictionary(versions.map { ($0.id, $0.sequence) }) { first, _ in first }
    return said.keys.filter { (places[$0.id] ?? $0.sequence) == $0.sequence }
      .compactMap { version in drill(of: version).map { (version.id, $0) } }
      .max { ($0.1.time <= now ? 1 : 0, $0.1.time, $0.0) < ($1.1.time <= now ? 1 : 0, $1.1.time, $1.0) }
  }

  /// What was found damaged of a version, unless it was found whole later.
  package func damage(of version: VersionFacts) -> String? { damage(of: version.subject) }

  package func damage(of version: Subject) -> String? {
    last(.foundDamaged, of: version).flatMap { $0.item.bytes.isEmpty ? nil : $0.item.text }
  }

  /// A word that is not listed says that a version was found damaged: this machine knows of it. Whether it was found whole
  /// since is not known.
  package func missesDamage(of version: VersionFacts) -> Bool { missesDamage(of: version.subject) }

  package func missesDamage(of version: Subject) -> Bool { missedDamage.contains(version.id) }

  /// By version, the names of the tombstones that do not count for it any more.
  var takenBack: [Subject: Set<Digest>] {
    said.compactMapValues { said in
      let names = said.filter { $0.item.kind == .unforget }.flatMap(\.item.names)
      return names.isEmpty ? nil : Set(names)
    }
  }

  /// - Parameter annotations: with the names of their objects.
  fileprivate init(_ annotations: [(name: RecordName, annotation: Annotation)]) {
    var said: [Subject: [Said]] = [:]
    let ordered = annotations.sorted {
      ($0.annotation.time, $0.name.digest) < ($1.annotation.time, $1.name.digest)
    }
    for (_, annotation) in ordered {
      said[annotation.subject, default: []] += annotation.items.map { (annotation.time, $0) }
    }
    self.said = said
    unforgetting = annotations.filter { $0.annotation.items.contains { $0.kind == .unforget } }
    pinnedPlaces = Set(annotations.map(\.annotation).filter { isPinned($0.subject) }.map(\.sequence))
  }
}

extension VersionFacts {
  fileprivate var subject: Annotations.Subject { Annotations.Subject(sequence: sequence, id: id) }
}

extension Annotation {
  fileprivate var subject: Annotations.Subject { Annotations.Subject(sequence: sequence, id: coreHash) }

  /// What decides which versions stay. What takes a tombstone back is noted by who does so, when the version is safe.
  fileprivate static let deciding: Set<Kind> = [.addTag, .pin, .foundDamaged]

  /// What a machine that knows of it will not have held back.
  fileprivate func words(named name: Digest) -> [OwnWords.Word] {
    let staying = items.filter { Self.deciding.contains($0.kind) }.map(\.meaning)
    let stay = staying.isEmpty ? [] : [OwnWords.Word(.stay, name, of: coreHash, staying.joined(separator: ", "))]
    let isTakingBack = items.contains { $0.kind == .unforget }
    return stay + (isTakingBack ? [OwnWords.Word(unforgetting: coreHash, by: name)] : [])
  }
}

extension OwnWords.Word {
  /// - Parameter name: of the annotation that takes tombstones back for the version.
  init(unforgetting version: Digest, by name: Digest) { self.init(.note, name, of: version, "unforget") }
}

extension Annotation.Item {
  package init(_ kind: Annotation.Kind, _ text: String = "") { self.init(kind: kind, bytes: Array(text.utf8)) }

  /// - Parameter names: of tombstone objects.
  package init(unforget names: [Digest]) { self.init(kind: .unforget, bytes: names.flatMap(\.bytes)) }

  /// Of what people wrote.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The names of objects that it is made of.
  fileprivate var names: [Digest] {
    stride(from: 0, to: bytes.count - 31, by: 32).compactMap { Digest(Array(bytes[$0..<$0 + 32])) }
  }

  /// As people say what decides which versions stay.
  fileprivate var meaning: String {
    switch kind {
    case .addTag: "tag '\(text)'"
    case .foundDamaged: bytes.isEmpty ? "found whole" : OwnWords.Word.foundDamaged
    default: "\(kind)"
    }
  }
}

extension RepositoryError {
  /// - Parameter more: so many others cannot be read either.
  fileprivate static func unread(_ name: RecordName, more: Int = 0) -> RepositoryError {
    let what = more > 0 ? "the annotation \(name.objectName), and \(more) more," : "the annotation \(name.objectName)"
    let which = more > 0 ? "those objects (`sealift check` names them)" : "that object"
    return RepositoryError(
      .damaged,
      "\(what) cannot be read, and may say that a version is pinned, tagged, found damaged, or not forgotten",
      hint: "Bring \(which) back from a copy of the target. \(sayAgainAndRemove)")
  }
}

extension Repository {
  /// The annotations of a chain. One that cannot be read is passed over: it says something about a version, it is none. That
  /// there is such a one is in the result (`unread`).
  /// - Parameter listed: of this chain, as a listing showed them; `nil` to list them now.
  package func annotations(
    of chain: ChainID, listed: RecordListing? = nil, state: StateFolder?
  ) async throws -> Annotations {
    let prefix = Layout.annotations(of: chain)
    let listing: RecordListing
    if let listed { listing = listed } else { listing = RecordListing(objects: try await store.list(prefix: prefix)) }
    let look = try await recordsAndUnread(.annotation, of: chain, listing.names(below: prefix), state: state)
    var unread = look.unread
    var found: [(name: RecordName, annotation: Annotation, epoch: UInt32)] = []
    for (name, content) in look.read {
      do {
        found.append((name: name, annotation: try Annotation(decoding: Array(content.meta)), epoch: content.epoch))
      } catch {
        if !error.isLater { unread.append(name) }
      }
    }
    var said = genuine(found, of: chain, state)
    if let first = unread.first { said.unread = RepositoryError.unread(first, more: unread.count - 1) }
    if let state, let words = try? OwnWords(of: chain, in: state) {
      said.missedDamage = words.damageMissed(among: listing)
    }
    return said
  }

  /// The annotations of a chain, for who lets go of versions: none is passed over.
  /// - Throws: `.damaged` for one that is listed with its full length and cannot be read: it may be a pin, or take a
  ///   tombstone back. `SealError` for one of a later format.
  package func everyAnnotation(
    of chain: ChainID, listed: RecordListing, state: StateFolder?
  ) async throws -> Annotations {
    let prefix = Layout.annotations(of: chain)
    let names = listed.names(below: prefix)
    let read = try await records(.annotation, of: chain, below: prefix, listed: listed, state: state)
    let opened = Set(read.map(\.name))
    if let lost = names.first(where: { !opened.contains($0) }) {
      try await demandKnownFormat(of: lost, .annotation)
      throw RepositoryError.unread(lost)
    }
    let decoded = try read.map { name, content in
      (name, try Annotation(decoding: Array(content.meta)), content.epoch)
    }
    return genuine(decoded, of: chain, state)
  }

  /// Those of them that count. Who reads has seen: from now on this machine misses those that decide something.
  /// - Parameter state: `nil` where this machine is to remember nothing of it.
  func genuine(
    _ read: [(name: RecordName, annotation: Annotation, epoch: UInt32)], of chain: ChainID, _ state: StateFolder?
  ) -> Annotations {
    let genuine: [(name: RecordName, annotation: Annotation)] = read.filter { _, annotation, epoch in
      annotation.chain == chain
        && isGenuine(annotation.sequence, annotation.coreHash, of: chain, epoch: epoch)
    }.map { ($0.name, $0.annotation) }
    // A machine whose state cannot be written reads all the same.
    if let state {
      try? OwnWords.see(genuine.flatMap { $0.annotation.words(named: $0.name.digest) }, of: chain, in: state)
    }
    return Annotations(genuine)
  }

  /// Says something of a version. What was said before stays; the later word counts.
  /// - Parameters:
  ///   - now: milliseconds since 1970 UTC.
  ///   - state: where it is kept, so that this machine need not fetch its own word.
  /// - Returns: the annotation's name.
  @discardableResult
  package func annotate(
    _ version: VersionFacts, _ items: [Annotation.Item], now: UInt64, state: StateFolder? = nil
  ) async throws -> Digest {
    let annotation = Annotation(
      chain: version.chain, sequence: version.sequence, coreHash: version.id, time: now, items: items)
    let prefix = Layout.annotations(of: version.chain)
    let name = try await putRecord(.annotation, annotation.encode(), below: prefix, state: state)
    // A machine whose state cannot be written will not notice, should a listing leave it out: no reason to fail.
    if let state, items.contains(where: { Annotation.deciding.contains($0.kind) }) {
      for word in annotation.words(named: name) where word.kind == .stay {
        try? OwnWords.add(word, of: version.chain, in: state)
      }
    }
    return name
  }

  /// Seals a record and stores it under its name.
  /// - Parameters:
  ///   - state: where it is kept when it is stored.
  ///   - note: gets that name's hash before it is stored.
  /// - Returns: that name's hash.
  @discardableResult
  func putRecord(
    _ kind: ObjectKind, _ meta: [UInt8], below prefix: String, state: StateFolder? = nil,
    noting note: (Digest) -> Void = { _ in }
  ) async throws -> Digest {
    let sealed = try ObjectBuilder(kind: kind, keys: keys, random: random).finish(meta: meta)
    note(sealed.name)
    let name = Layout.known("\(prefix)\(sealed.bytes.count)-\(sealed.name.hex)")
    try await store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
    state?.keep(sealed.bytes, as: sealed.name.hex)
    return sealed.name
  }
}
