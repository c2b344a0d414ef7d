import Sealing

/// A member that is about to be written: its metadata, and a way to read its bytes.
package struct MemberSource: Sendable {
  package enum Content: Sendable {
    /// A database image: pages of this many bytes.
    case image(pageSize: Int)
    /// Another file, in blocks of 64 KiB.
    case file
  }

  package var content: Content
  /// Path inside the version, relative.
  package var path: String
  /// Permission bits.
  package var mode: UInt32
  /// Milliseconds since 1970 UTC.
  package var modified: UInt64
  /// In bytes; while it grows, about what it will be.
  package var length: Int
  /// Reads exactly that part of the content.
  package var read: @Sendable (Range<Int>) throws -> [UInt8]
  /// Set while the member, a database image, is still being written.
  package var growth: Growth?

  /// Returns when the member may be read up to that many bytes, or is finished; then it says how long it is. What was
  /// read before that may have been written again.
  package typealias Growth = @Sendable (_ upTo: Int) async throws -> Int?

  package init(
    content: Content, path: String, mode: UInt32, modified: UInt64, length: Int,
    read: @escaping @Sendable (Range<Int>) throws -> [UInt8]
  ) {
    self.content = content
    self.path = path
    self.mode = mode
    self.modified = modified
    self.length = length
    self.read = read
  }

  static let blockSize = 65_536

  var unitType: UnitType {
    switch content {
    case .image: .page
    case .file: .block
    }
  }

  var unitSize: Int {
    switch content {
    case .image(let pageSize): pageSize
    case .file: Self.blockSize
    }
  }

  var unitCount: Int { (length + unitSize - 1) / unitSize }
}
