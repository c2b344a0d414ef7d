/// An object whose name, key, directory and layout were checked. Its frames are opened one by one.
package struct OpenedObject: Sendable {
  package let directory: Directory
  package let epoch: UInt32
  package let version: Int
  private let bytes: [UInt8]
  private let keys: ObjectKeys

  /// - Parameter name: what the object is called at the target; `nil` where that was checked already.
  /// - Throws: `SealError`, with the failure classes of `Docs/Format.md`.
  package static func open(
    _ bytes: [UInt8], kind: ObjectKind, name: Digest?, keys: SealingKeys
  ) throws(SealError) -> OpenedObject {
    if let name, Digest.sha256(of: bytes) != name {
      throw SealError(.damaged, "an object is not what its name says: it was damaged or replaced")
    }
    return try open(bytes, kind: kind, repository: keys.repository) { epoch throws(SealError) in
      try keys.kindKey(kind, epoch: epoch)
    }
  }

  static func open(
    _ bytes: [UInt8], kind: ObjectKind, repository: RepositoryID, wrongKey: SealError.Code = .damaged,
    kindKey: (UInt32) throws(SealError) -> [UInt8]
  ) throws(SealError) -> OpenedObject {
    guard bytes.count >= Limits.objectMinimum else {
      throw SealError(.truncated, "an object of \(bytes.count) bytes is cut")
    }
    guard bytes.count <= Limits.object else {
      throw SealError(.malformed, "an object of \(bytes.count) bytes is too long")
    }
    let (header, commitment) = try Header.decode(bytes[...])
    guard header.kind == kind else {
      throw SealError(.damaged, "an object of kind \(header.kind) stands where one of kind \(kind) belongs")
    }
    guard header.repository == repository else { throw SealError(.damaged, SealError.ofAnotherRepository) }
    let keys = ObjectKeys(header: header, kindKey: try kindKey(header.epoch))
    guard equalInConstantTime(keys.commitment, commitment) else {
      throw SealError(wrongKey, "an object does not open with the key of this repository")
    }
    try header.checkReserved()
    let directoryFrame = try directoryFrame(of: bytes)
    let directory = try openDirectory(
      bytes[directoryFrame], keys: keys, kind: kind, end: directoryFrame.lowerBound)
    return OpenedObject(
      directory: directory, epoch: header.epoch, version: Int(header.version), bytes: bytes, keys: keys)
  }

  /// How much of an object says whose it is.
  package static let claimLength = 32

  /// The repository that an object says it belongs to, by its first bytes: a claim, until it is opened.
  package static func claimedRepository(_ start: [UInt8]) -> RepositoryID? {
    guard start.count >= claimLength, start.starts(with: Header.magic) else { return nil }
    return RepositoryID(start[16..<claimLength])
  }

  /// Whether the header is of this format. Then what says that an object is of a later one is authentic: the header itself
  /// says so before any key is used.
  package static func hasKnownHeader(_ bytes: [UInt8]) -> Bool { (try? Header.decode(bytes[...])) != nil }

  /// Whether whoever sealed an object had the key though it cannot be opened, where that object is nothing but header and
  /// directory. A header of a later format anybody can write, and between the two anybody can add bytes.
  package static func isAuthentic(_ bytes: [UInt8], despite error: SealError) -> Bool {
    switch error.code {
    case .unsupported: return hasKnownHeader(bytes)
    case .malformed:
      guard (Limits.objectMinimum...Limits.object).contains(bytes.count) else { return false }
      return (try? directoryFrame(of: bytes))?.lowerBound == Header.length
    default: return false
    }
  }

  /// Where the directory frame lies, by the length in the last four bytes.
  private static func directoryFrame(of bytes: [UInt8]) throws(SealError) -> Range<Int> {
    let end = bytes.count - 4
    let length = bytes[end...].reduce(0) { $0 << 8 | Int($1) }
    guard length <= end - Header.length else {
      throw SealError(.truncated, "the object ends before its directory does")
    }
    guard length >= Directory.shortestFrame else {
      throw SealError(.damaged, "the object's end does not say where its directory is")
    }
    return end - length..<end
  }

  static func openDirectory(
    _ sealed: ArraySlice<UInt8>, keys: ObjectKeys, kind: ObjectKind, end: Int
  ) throws(SealError) -> Directory {
    let length = sealed.count - AuthenticatedCipher.tagLength
    guard length >= 0,
      let plain = try keys.cipher().open(
        sealed, nonce: keys.nonce(ObjectKeys.directoryIndex, final: true),
        additional: ObjectKeys.directoryAdditionalData(plaintextLength: length))
    else { throw SealError(.damaged, "the directory of an object is damaged or forged") }
    return try Directory(decoding: plain, kind: kind, end: end)
  }

  /// Whether the frame opens to just this payload: what the writer put in.
  package func opens(_ index: Int, to payload: [UInt8], with decoder: FrameDecoder) -> Bool {
    let record = directory.frames[index]
    let sealed = bytes[record.sealedRange]
    guard let opened = try? decoder.open(sealed, record: record, index: index, objectKeys: keys) else { return false }
    return opened.withUnsafeBytes { opened in payload.withUnsafeBytes { opened.holdsSame(as: $0) } }
  }

  /// Opens, decodes and checks one frame.
  /// - Parameters:
  ///   - prefix: for a delta frame, its base units joined.
  ///   - proving: as of `FrameDecoder.decode`.
  package func decodeFrame(
    _ index: Int, with decoder: FrameDecoder, prefix: [UInt8]? = nil, proving: Bool = true
  ) throws(SealError) -> [UInt8] {
    let record = directory.frames[index]
    let sealed = bytes[record.sealedRange]
    return try decoder.decode(sealed, record: record, index: index, objectKeys: keys, prefix: prefix, proving: proving)
  }

  /// The frames as they were put in, to be sealed in another object: compressed, authentic, not expanded.
  package func encodedFrames(with decoder: FrameDecoder) throws(SealError) -> [EncodedFrame] {
    var frames: [EncodedFrame] = []
    for (index, record) in directory.frames.enumerated() {
      let sealed = bytes[record.sealedRange]
      frames.append(
        EncodedFrame(
          codec: record.codec, type: record.type, unitLengths: record.unitLengths, fingerprints: record.fingerprints,
          frameID: record.frameID, bases: record.bases,
          payload: try decoder.open(sealed, record: record, index: index, objectKeys: keys)))
    }
    return frames
  }
}
