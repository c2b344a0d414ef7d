import Sealing

/// The fingerprint of every unit of a member that is being read, by unit: what the image digest is made of.
///
/// 16 bytes a unit, in a nameless file. Each frame was proved when it was decoded; the digest proves that every unit
/// stands where it stood when it was pushed.
final class UnitProofs: Sendable {
  private let proofs: FileTable<UInt8>

  /// - Throws: `.stateFolder`.
  init(of file: Core.FileContent, in folder: String) throws {
    let length = Int(file.unitCount) * Fingerprint.length
    proofs = try FileTable(capacity: length, count: length, in: folder)
  }

  /// Notes units that were proved; from several tasks, each its own.
  /// - Parameter fingerprints: joined.
  func note(_ fingerprints: ArraySlice<UInt8>, from unit: Int) {
    proofs.withUnsafeMutableBufferPointer { proofs in
      _ = UnsafeMutableBufferPointer(rebasing: proofs[(unit * Fingerprint.length)...]).update(from: fingerprints)
    }
  }

  var digest: Digest {
    let digest = RunningDigest()
    proofs.withUnsafeMutableBufferPointer { digest.update(UnsafeRawBufferPointer($0)) }
    return digest.finish()
  }
}

extension Fingerprint {
  /// In bytes.
  static let length = 16
}
