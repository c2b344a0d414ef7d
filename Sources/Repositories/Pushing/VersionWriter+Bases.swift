import Sealing

/// What a version of its level may refer to, and rest on.
extension VersionWriter {
  /// Where the member may find its units again. An anchor of which less than three quarters are there may not refer to
  /// earlier versions: its frames would lie among others that are hardly used any more, and whatever rests on it would
  /// decode those too. What a push that was cut has left of it is its own all the same, however little.
  func reach(of source: MemberSource) throws -> Reach {
    guard level == .anchor, source.unitCount > 0, isAmongOthers else { return reach }
    var looked = 0
    var found = 0
    for unit in stride(from: 0, to: source.unitCount, by: max(1, source.unitCount / 512)) {
      let start = unit * source.unitSize
      let bytes = try source.read(start..<min(start + source.unitSize, source.length))
      let fingerprint = bytes.withUnsafeBytes { bytes -> Fingerprint? in
        bytes.isAllZeros ? nil : fingerprinters.with { $0.fingerprint(source.unitType, bytes) }
      }
      guard let fingerprint else { continue }
      looked += 1
      if known.ordinal(of: fingerprint, depth: 0) != nil { found += 1 }
    }
    return found * 4 >= looked * 3 ? reach : Reach(depth: -1, ownDepth: reach.ownDepth)
  }

  /// A leaf leaves room for the small changes after it, which may use it up.
  func room(after length: Int) -> Int {
    level < .shoot || newBytes <= DeltaPlan.smallChange(of: length) ? 0 : DeltaPlan.roomForSmallChanges(after: length)
  }

  /// What new frames of this member may rest on, if anything; and whether there is something, and the target lacks it.
  func bases(for source: MemberSource) -> (chooser: BaseChooser?, areLacking: Bool) {
    guard level > .anchor else { return (nil, false) }
    if level > .middle, let middle = chooser(draft.deltas.middle, for: source), middle.baseIsKnown() {
      return (middle, false)
    }
    // A target that missed the middle version mostly has the anchor; one that is new has neither.
    guard let anchor = chooser(draft.deltas.anchor, for: source) else { return (nil, false) }
    return (anchor, !anchor.baseIsKnown())
  }

  /// Whether the target has the anchor, where somebody asks: also a leaf on the middle version looks for it then.
  func meetsAnchor(with source: MemberSource) -> Bool {
    draft.deltas.asksForAnchor && chooser(draft.deltas.anchor, for: source)?.baseIsKnown() == true
  }

  private func chooser(_ base: BaseImage?, for source: MemberSource) -> BaseChooser? {
    guard source.unitType == .page, draft.compressionLevel > 0, let base, base.pageSize == source.unitSize else {
      return nil
    }
    return BaseChooser(
      base, known: known, depth: level.depthOfBases, keepsPositions: draft.deltas.keepsPositions,
      fingerprinters: fingerprinters)
  }

  /// The level to try instead where the target has none of the bases, and more than a little is new. As a leaf it would
  /// store that whole, and so would the next: as a middle version it stores no more, and they rest on it. The anchor
  /// stays for targets that have it, as where each is pushed to by a run of its own.
  var levelWithoutBases: DeltaLevel? {
    lacksBases && draft.deltas.decidesBases && level > .middle ? .middle : nil
  }

  /// What new frames of companions may rest on, if anything.
  func companionBases() -> CompanionChooser? {
    guard let bases = draft.deltas.companions, draft.compressionLevel > 0 else { return nil }
    return CompanionChooser(
      bases, known: known, depth: level.depthOfBases, makesDeltas: level >= .middle,
      records: draft.deltas.recordsCompanions, fingerprinters: fingerprinters)
  }
}
