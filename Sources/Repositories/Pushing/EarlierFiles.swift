import Sealing

/// The files of the version before, beside those of the one that is written: both ascend by the bytes of their paths.
struct EarlierFiles {
  private var rest: ArraySlice<Core.Member>

  init(_ members: [Core.Member]) {
    rest = members.drop { if case .database = $0.content { true } else { false } }
  }

  /// The file that had this path. Paths are asked for in their order.
  mutating func file(at path: String) -> (modified: UInt64, content: Core.FileContent)? {
    rest = rest.drop { $0.path.utf8.lexicographicallyPrecedes(path.utf8) }
    guard let member = rest.first, member.path.utf8.elementsEqual(path.utf8), case .file(let content) = member.content
    else { return nil }
    return (member.modified, content)
  }
}
