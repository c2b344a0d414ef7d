import Glibc

/// A table of fixed-size elements, up to a capacity known in advance, kept in a file without a name.
///
/// What must grow with a database, and would be anonymous memory otherwise, lives here: the kernel may write its pages
/// out whenever it needs the room. The file has no name, so whatever is killed, nothing is left behind. Its space is
/// taken when it is made, so that a full disk is met then. Where file systems copy on write, such as btrfs, it can still be
/// met in the middle, as a SIGBUS: the program says so and ends.
///
/// One thread at a time; elements that are there already may be changed by several, each its own.
final class FileTable<Element: BitwiseCopyable>: @unchecked Sendable {
  let capacity: Int
  private(set) var count = 0
  private let elements: UnsafeMutablePointer<Element>
  private var mappedLength: Int { Self.mappedLength(capacity) }

  /// - Parameters:
  ///   - capacity: how many elements it can take; the file is as long as all of them.
  ///   - count: how many it holds from the start, all bits of them zero.
  ///   - folder: on a disk with room for them.
  /// - Throws: `.stateFolder`; `.noSpace` on a full disk.
  init(capacity: Int, count: Int = 0, in folder: String) throws(RepositoryError) {
    precondition((0...capacity).contains(count))
    self.capacity = capacity
    self.count = count
    let descriptor = try NamelessFile.open(in: folder)
    defer { close(descriptor) }
    let length = Self.mappedLength(capacity)
    let problem = Self.reserve(length, of: descriptor)
    guard problem == 0 else {
      throw NamelessFile.failure("cannot make a table of \(length) bytes", in: folder, problem)
    }
    guard let mapped = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), mapped != MAP_FAILED else {
      throw NamelessFile.failure("cannot map a table of \(length) bytes", in: folder, errno)
    }
    elements = mapped.bindMemory(to: Element.self, capacity: capacity)
  }

  /// A file system in memory begins anew at each signal: one that comes again and again must not hold this up for ever.
  private static func reserve(_ length: Int, of descriptor: Int32) -> Int32 {
    for _ in 0..<100 {
      let problem = posix_fallocate(descriptor, 0, off_t(length))
      if problem != EINTR { return problem }
    }
    return EINTR
  }

  deinit { munmap(elements, mappedLength) }

  /// Adds an element at the end, which must be below the capacity.
  func append(_ element: Element) {
    precondition(count < capacity, "the table is full")
    elements[count] = element
    count += 1
  }

  var last: Element? { count > 0 ? elements[count - 1] : nil }

  /// Forgets all elements from `count` on.
  func truncate(to count: Int) {
    precondition((0...self.count).contains(count))
    self.count = count
  }

  subscript(_ index: Int) -> Element {
    get {
      precondition(index >= 0 && index < count, "beyond the end of the table")
      return elements[index]
    }
    set {
      precondition(index >= 0 && index < count, "beyond the end of the table")
      elements[index] = newValue
    }
  }

  /// The elements that are there, in place: to sort, to search, to hand out in parts.
  func withUnsafeMutableBufferPointer<Result, Failure: Error>(
    _ body: (inout UnsafeMutableBufferPointer<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    var buffer = UnsafeMutableBufferPointer(start: elements, count: count)
    return try body(&buffer)
  }

  /// No mapping is empty.
  private static func mappedLength(_ capacity: Int) -> Int { max(1, capacity) * MemoryLayout<Element>.stride }
}
