/// Units joined and compressed, ready to be sealed.
package struct EncodedFrame: Sendable {
  package let codec: Codec
  package let type: UnitType
  package let unitLengths: UnitLengths
  package let fingerprints: [Fingerprint]
  package let frameID: Digest
  /// Where the prefix of a delta frame comes from. Set when the object's base packs are known.
  package var bases: [BaseRun]
  package let payload: [UInt8]

  /// - Parameter frameID: where it is known without the fingerprints, as of a delta frame that was read.
  package init(
    codec: Codec, type: UnitType, unitLengths: UnitLengths, fingerprints: [Fingerprint], frameID: Digest? = nil,
    bases: [BaseRun] = [], payload: [UInt8]
  ) {
    self.codec = codec
    self.type = type
    self.unitLengths = unitLengths
    self.fingerprints = fingerprints
    self.frameID = frameID ?? FrameRecord.frameID(of: fingerprints)
    self.bases = bases
    self.payload = payload
  }

  package var plaintextLength: Int { unitLengths.total }
}
