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

  package init(
    codec: Codec, type: UnitType, unitLengths: UnitLengths, fingerprints: [Fingerprint], bases: [BaseRun] = [],
    payload: [UInt8]
  ) {
    self.codec = codec
    self.type = type
    self.unitLengths = unitLengths
    self.fingerprints = fingerprints
    frameID = FrameRecord.frameID(of: fingerprints)
    self.bases = bases
    self.payload = payload
  }

  package var plaintextLength: Int { unitLengths.total }
}
