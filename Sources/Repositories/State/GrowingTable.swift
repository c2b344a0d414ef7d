/// A `FileTable` that takes any number of elements: its room doubles when it is full.
///
/// One thread at a time adds or truncates; while none does, several may read, and each change elements of its own.
final class GrowingTable<Element: BitwiseCopyable>: @unchecked Sendable {
  private let folder: String
  private var elements: FileTable<Element>

  /// - Throws: `.stateFolder`; `.noSpace` when there is no room in `folder`.
  init(in folder: String) throws(RepositoryError) {
    self.folder = folder
    // Of a small database each of many tables takes one page of the disk.
    elements = try FileTable(capacity: 64, in: folder)
  }

  var count: Int { elements.count }
  var last: Element? { elements.last }

  subscript(_ index: Int) -> Element {
    get { elements[index] }
    set { elements[index] = newValue }
  }

  func append(_ element: Element) throws(RepositoryError) {
    if elements.count == elements.capacity {
      let larger = try FileTable<Element>(capacity: elements.capacity * 2, in: folder)
      for index in 0..<elements.count { larger.append(elements[index]) }
      elements = larger
    }
    elements.append(element)
  }

  /// Forgets all elements from `count` on.
  func truncate(to count: Int) { elements.truncate(to: count) }
}
