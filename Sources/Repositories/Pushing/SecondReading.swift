import Sealing

/// A member that was read while it was written, read once more now that it is finished: its SHA-256, and a sum of each
/// unit that shows whether the first reading saw the same.
///
/// This is what makes it impossible that a version is torn: whatever came late or was written again, however it was
/// written, has another sum.
struct SecondReading: Sendable {
  /// In bytes.
  let length: Int
  let sha256: Digest
  let sums: GrowingTable<UnitSum>

  /// In bytes; small enough to stay in a core's cache between the kernel's copy and the hashes.
  private static let partLength = 64 << 10

  /// Waits until the member is finished, then reads it.
  /// - Parameter growth: of the member.
  static func begin(
    _ source: MemberSource, _ growth: @escaping MemberSource.Growth, _ sums: UnitSums, in folder: String
  ) -> Task<SecondReading, any Error> {
    Task {
      guard let length = try await growth(.max) else {
        throw RepositoryError(.damaged, "'\(source.path)' was never finished")
      }
      let plain = RunningDigest()
      let table = try GrowingTable<UnitSum>(in: folder)
      for start in stride(from: 0, to: length, by: partLength) {
        try Task.checkCancellation()
        let bytes = try source.read(start..<min(start + partLength, length))
        plain.update(bytes)
        for sum in sums.sums(of: bytes) { try table.append(sum) }
        // Others wait for this thread too.
        if start % (4 << 20) == 0 { await Task.yield() }
      }
      return SecondReading(length: length, sha256: plain.finish(), sums: table)
    }
  }
}
