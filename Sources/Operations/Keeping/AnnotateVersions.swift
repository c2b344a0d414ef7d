import Repositories
import Sealing
import Storage

/// `sealift tag`, `note`, `pin` and `unpin`: what people say of a version after it was pushed. What was said before
/// stays at the target; the last word counts.
package struct AnnotateVersions: Sendable {
  package enum Word: Sendable {
    /// As somebody typed them: who removes a tag means each that looks alike, and who adds one that does adds nothing.
    case tags(add: [String], remove: [String])
    /// An empty text takes the note away.
    case note(String)
    case pin
    case unpin
  }

  package struct Outcome: Sendable {
    /// As it stands now.
    package var version: VersionSummary
    /// False: it was so before, and nothing was stored.
    package var changed: Bool
    /// Tags that were to be taken away, and that it did not have.
    package var absentTags: [String] = []
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: `.usage` for words that a version cannot hold; `.noSuchVersion`.
  package func run(_ word: Word, of selector: VersionSelector, at target: TargetAccess) async throws -> Outcome {
    do {
      try word.demandFitting()
      let lookup = try await VersionLookup(at: target, world, isReading: false)
      let found = try await lookup.find(selector)
      let annotations = try await lookup.annotations(of: found.history)
      guard var version = VersionSummary(found.facts, target: target.name, annotations: annotations) else {
        throw RepositoryError(.incomplete, "the manifest is no version")
      }
      version.forgotten = found.history.isForgotten(found.facts)
      if case .pin = word, version.forgotten { throw Self.forgotten(version) }
      let (items, absent) = (word.items(for: version), word.absentTags(of: version))
      if word.takesAway(whatIsNoneOf: version) { try await lookup.demandWords(of: found.history, annotations) }
      guard !items.isEmpty else {
        tell(word, of: version)
        return Outcome(version: version, changed: false, absentTags: absent)
      }
      let before = version.tags.count
      word.apply(to: &version)
      // It may have more than anybody may give: two machines added some at once, or `copy` carried them here.
      if version.tags.count > before { try Push.Request.demandFew(version.tags) }
      try await lookup.repository.annotate(
        found.facts, items, now: annotations.time(for: found.facts, now: world.now()),
        state: lookup.state)
      if word.isToKeep, !version.forgotten {
        // A tombstone may have come before the word was there to be seen.
        let now = try await lookup.repository.forgotten(of: found.facts.chain, state: lookup.state)
        version.forgotten = now.contains(found.facts)
        if case .pin = word, version.forgotten { throw Self.forgotten(version) }
      }
      tell(word, of: version)
      return Outcome(version: version, changed: true, absentTags: absent)
    } catch {
      throw OperationError(error, doing: "writing to \(target.name)")
    }
  }

  /// Rules may keep what has a tag; but they ask nobody who was forgotten before.
  private func tell(_ word: Word, of version: VersionSummary) {
    guard version.forgotten, let what = word.whatIsAdded else { return }
    let id = version.id.prefix(12)
    world.reporter.notice("version \(id) is forgotten, and \(what) does not bring it back: `sealift unforget \(id)`")
  }

  private static func forgotten(_ version: VersionSummary) -> OperationError {
    OperationError(
      .usage, code: "forgotten", "version \(version.id.prefix(12)) is forgotten: a pin does not bring it back",
      hint: "Take that back first, with `sealift unforget \(version.id.prefix(12))`.")
  }
}

extension AnnotateVersions.Word {
  fileprivate func demandFitting() throws {
    switch self {
    case .tags(let add, let remove):
      for tag in add + remove {
        guard !tag.isEmpty else {
          throw OperationError(.usage, code: "badTag", "a tag must not be empty", hint: "Give it at least one letter.")
        }
        try Push.Request.demandShort(tag, "a tag")
      }
      if let both = add.first(where: remove.contains) {
        throw OperationError(
          .usage, code: "badTag", "the tag '\(both)' is both added and removed", hint: "Leave out one of the two.")
      }
    case .note(let text): try Push.Request.demandShort(text, "the note")
    case .pin, .unpin: break
    }
  }

  /// Who says it wants rules to keep the version.
  fileprivate var isToKeep: Bool {
    switch self {
    case .tags(let add, _): !add.isEmpty
    case .pin: true
    case .note, .unpin: false
    }
  }

  /// What a version has by it that it might be thought to be kept by.
  fileprivate var whatIsAdded: String? {
    switch self {
    case .tags(let add, _): add.isEmpty ? nil : "a tag"
    case .note(let text): text.isEmpty ? nil : "a note"
    case .pin, .unpin: nil
    }
  }

  /// Nothing where it is so already.
  fileprivate func items(for version: VersionSummary) -> [Annotation.Item] {
    switch self {
    case .tags(let add, let remove):
      var seen = Set(version.tags)
      let added = add.filter { seen.insert($0).inserted }
      // Readers go by the bytes that are stored, not by those that were typed.
      let removed = Set(version.tags.filter { remove.contains($0) }.map { ExactName($0) }).sorted().map(\.text)
      return added.map { Annotation.Item(.addTag, $0) } + removed.map { Annotation.Item(.removeTag, $0) }
    case .note(let text): return version.note == text ? [] : [Annotation.Item(.note, text)]
    case .pin: return version.pinned ? [] : [Annotation.Item(.pin)]
    case .unpin: return version.pinned ? [Annotation.Item(.unpin)] : []
    }
  }

  /// A name that is mistyped takes nothing away.
  fileprivate func absentTags(of version: VersionSummary) -> [String] {
    guard case .tags(_, let remove) = self else { return [] }
    return remove.filter { !version.tags.contains($0) }
  }

  /// That it had none is to be told. What is lost of what was said may be just that.
  fileprivate func takesAway(whatIsNoneOf version: VersionSummary) -> Bool {
    if case .unpin = self { return !version.pinned }
    return !absentTags(of: version).isEmpty
  }

  fileprivate func apply(to version: inout VersionSummary) {
    switch self {
    case .tags(let add, let remove):
      for tag in add where !version.tags.contains(tag) { version.tags.append(tag) }
      version.tags.removeAll(where: remove.contains)
    case .note(let text): version.note = text
    case .pin: version.pinned = true
    case .unpin: version.pinned = false
    }
  }
}
