package import Sealing
import Storage

/// What was said of versions after they were pushed, by core hash (`Docs/Format.md` §8.3).
package struct Annotations: Sendable {
  private let items: [Digest: [Annotation.Item]]

  package static let none = Annotations(items: [:])

  /// The tags of a version: those it was pushed with, and what was added and removed since.
  package func tags(of version: Digest, pushedWith tags: [String]) -> [String] {
    var tags = tags
    for item in items[version] ?? [] {
      let text = String(decoding: item.bytes, as: UTF8.self)
      switch item.kind {
      case .addTag where !tags.contains(text): tags.append(text)
      case .removeTag: tags.removeAll { $0 == text }
      default: continue
      }
    }
    return tags
  }

  /// The note of a version: the last one given.
  package func note(of version: Digest, pushedWith note: String) -> String {
    let last = items[version]?.last { $0.kind == .note }
    return last.map { String(decoding: $0.bytes, as: UTF8.self) } ?? note
  }

  private init(items: [Digest: [Annotation.Item]]) { self.items = items }

  /// - Parameter annotations: with the names of their objects.
  fileprivate init(_ annotations: [(name: Digest, annotation: Annotation)]) {
    var items: [Digest: [Annotation.Item]] = [:]
    for (_, annotation) in annotations.sorted(by: { ($0.annotation.time, $0.name) < ($1.annotation.time, $1.name) }) {
      items[annotation.coreHash, default: []] += annotation.items
    }
    self.items = items
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
}
