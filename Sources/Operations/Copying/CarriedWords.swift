import Repositories
import Sealing
import Storage

/// The tags and the note that a version was given since it was copied. Of each tag, and of the note, the later word counts,
/// as within one repository: what somebody has said of the copy since then stays.
struct CarriedWords {
  /// To be said of the copy.
  let items: [Annotation.Item]
  /// When the last of them was said of the version, in milliseconds since 1970 UTC: of the copy they count no earlier, or
  /// what is said of that next would be older than they are.
  let time: UInt64
  /// The copy's, when they are said.
  private(set) var tags: [String]
  private(set) var note: String

  private enum Subject: Hashable {
    case tag(ExactName)
    case note
  }

  /// - Parameters:
  ///   - said: at the repository of the version.
  ///   - saidThere: at that of its copy.
  init(of version: VersionFacts, _ said: Annotations, to copy: VersionFacts, _ saidThere: Annotations) {
    let known = Self.last(saidThere.all(of: copy))
    tags = saidThere.tags(of: copy, pushedWith: copy.tags)
    note = saidThere.note(of: copy, pushedWith: copy.note)
    var words: [Annotations.Said] = []
    for (subject, word) in Self.last(said.all(of: version)) where known[subject].map({ $0.time < word.time }) ?? true {
      let isNews =
        switch subject {
        case .tag(let tag): tags.containsName(tag.text) != (word.item.kind == .addTag)
        case .note: note != word.item.text
        }
      if isNews { words.append(word) }
    }
    words.sort { ($0.time, ExactName($0.item.text)) < ($1.time, ExactName($1.item.text)) }
    items = words.map(\.item)
    time = words.last?.time ?? 0
    for item in items { apply(item) }
  }

  private mutating func apply(_ item: Annotation.Item) {
    switch item.kind {
    case .addTag: tags.append(item.text)
    case .removeTag: tags.removeAll { $0.isSameName(as: item.text) }
    default: note = item.text
    }
  }

  /// The last word of each that there is.
  private static func last(_ said: [Annotations.Said]) -> [Subject: Annotations.Said] {
    var last: [Subject: Annotations.Said] = [:]
    for word in said {
      switch word.item.kind {
      case .addTag, .removeTag: last[.tag(ExactName(word.item.text))] = word
      case .note: last[.note] = word
      default: continue
      }
    }
    return last
  }
}
