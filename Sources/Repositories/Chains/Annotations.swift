package import Sealing
import Storage

/// What was said of versions after they were pushed, by core hash (`Docs/Format.md` §8.3).
package struct Annotations: Sendable {
  /// One item, and when it was said: milliseconds since 1970 UTC.
  package typealias Said = (time: UInt64, item: Annotation.Item)

  /// By version id, oldest first; of equal times the one of the lesser object name is the older one.
  private let said: [Digest: [Said]]

  package static let none = Annotations([])

  /// The tags of a version: those it was pushed with, and what was added and removed since.
  package func tags(of version: Digest, pushedWith tags: [String]) -> [String] {
    var tags = tags
    for (_, item) in said[version] ?? [] {
      switch item.kind {
      case .addTag where !tags.contains(item.text): tags.append(item.text)
      case .removeTag: tags.removeAll { $0 == item.text }
      default: continue
      }
    }
    return tags
  }

  /// The note of a version: the last one given.
  package func note(of version: Digest, pushedWith note: String) -> String {
    last(.note, of: version)?.item.text ?? note
  }

  /// Whether a version is pinned: never forgotten by a rule.
  package func isPinned(_ version: Digest) -> Bool {
    said[version]?.last { $0.item.kind == .pin || $0.item.kind == .unpin }?.item.kind == .pin
  }

  /// The last thing of a kind that was said of a version.
  package func last(_ kind: Annotation.Kind, of version: Digest) -> Said? {
    said[version]?.last { $0.item.kind == kind }
  }

  /// A time at which what is said now of a version counts, also when the clock has gone back since the last word.
  /// - Parameter now: milliseconds since 1970 UTC.
  package func time(for version: Digest, now: UInt64) -> UInt64 {
    max(now, (said[version]?.last?.time).map { $0 + 1 } ?? 0)
  }

  /// What the last drill of a version came to.
  package func drill(of version: Digest) -> DrillResult? {
    last(.drill, of: version).flatMap { DrillResult($0.item, time: $0.time) }
  }

  /// What was found damaged of a version, unless it was found whole later.
  package func damage(of version: Digest) -> String? {
    last(.foundDamaged, of: version).flatMap { $0.item.bytes.isEmpty ? nil : $0.item.text }
  }

  /// By version id, the names of the tombstones that do not count for it any more.
  var takenBack: [Digest: Set<Digest>] {
    said.compactMapValues { said in
      let names = said.filter { $0.item.kind == .unforget }.flatMap(\.item.names)
      return names.isEmpty ? nil : Set(names)
    }
  }

  /// - Parameter annotations: with the names of their objects.
  fileprivate init(_ annotations: [(name: Digest, annotation: Annotation)]) {
    var said: [Digest: [Said]] = [:]
    for (_, annotation) in annotations.sorted(by: { ($0.annotation.time, $0.name) < ($1.annotation.time, $1.name) }) {
      said[annotation.coreHash, default: []] += annotation.items.map { (annotation.time, $0) }
    }
    self.said = said
  }
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
}

extension Repository {
  /// The annotations of a chain. One that cannot be read is passed over: it says something about a version, it is none.
  /// - Parameter listed: of this chain, as a listing showed them; `nil` to list them now.
  package func annotations(
    of chain: ChainID, listed: RecordListing? = nil, state: StateFolder?
  ) async throws -> Annotations {
    var found: [(name: Digest, annotation: Annotation)] = []
    let prefix = Layout.annotations(of: chain)
    for (name, object) in try await records(.annotation, below: prefix, listed: listed, state: state) {
      guard let annotation = try? Annotation(decoding: object.directory.meta), annotation.chain == chain,
        isGenuine(annotation.sequence, annotation.coreHash, of: chain, epoch: object.epoch)
      else { continue }
      found.append((name.digest, annotation))
    }
    return Annotations(found)
  }

  /// Says something of a version. What was said before stays; the later word counts.
  /// - Parameter now: milliseconds since 1970 UTC.
  package func annotate(_ version: VersionFacts, _ items: [Annotation.Item], now: UInt64) async throws {
    let annotation = Annotation(
      chain: version.chain, sequence: version.sequence, coreHash: version.id, time: now, items: items)
    try await putRecord(.annotation, annotation.encode(), below: Layout.annotations(of: version.chain))
  }

  /// Seals a record and stores it under its name.
  /// - Returns: that name's hash.
  @discardableResult
  func putRecord(_ kind: ObjectKind, _ meta: [UInt8], below prefix: String) async throws -> Digest {
    let sealed = try ObjectBuilder(kind: kind, keys: keys, random: random).finish(meta: meta)
    let name = Layout.known("\(prefix)\(sealed.bytes.count)-\(sealed.name.hex)")
    try await store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
    return sealed.name
  }
}
