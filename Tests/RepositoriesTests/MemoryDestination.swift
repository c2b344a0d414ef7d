import Storage

@testable import Repositories
@testable import Sealing

/// A member in memory, which may be written wrongly.
final class MemoryDestination: MemberDestination {
  private let bytes: Locked<[UInt8]>
  private let displace: @Sendable (_ offset: Int) -> Int?

  /// - Parameter displace: where the bytes come to stand that belong at an offset; nowhere when `nil`.
  init(of reader: VersionReader, displace: @escaping @Sendable (_ offset: Int) -> Int? = { $0 }) {
    bytes = Locked([UInt8](repeating: 0, count: Int(reader.core.members[0].file?.length ?? 0)))
    self.displace = displace
  }

  var content: [UInt8] { bytes.withLock { $0 } }

  func write(_ part: ArraySlice<UInt8>, at offset: Int) {
    guard let place = displace(offset) else { return }
    bytes.withLock { $0.replaceSubrange(place..<place + part.count, with: part) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.withLock { buffer.copyBytes(from: $0[offset..<offset + buffer.count]) }
  }
}
