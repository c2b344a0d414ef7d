import Storage

/// What a version may rest on: levels, not chains (`Docs/Decisions/0005`).
package enum DeltaLevel: Int, Sendable, Comparable {
  /// References nothing that is there: what ends any disorder.
  case fresh
  /// Whole frames only, its own and those of earlier versions.
  case anchor
  /// Deltas on the anchor.
  case middle
  /// Deltas on the middle version, and so at two removes on the anchor. What leaves before it have stored it stores anew.
  case shoot
  /// The same, but it refers to what leaves before it have stored.
  case leaf

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Depth of the frames that a version of this level may refer to; negative for none.
  var depthOfReferences: Int { self == .leaf ? 2 : depthOfBases }

  /// Depth of the frames that its own may rest on; negative for none.
  var depthOfBases: Int {
    switch self {
    case .fresh: -1
    case .anchor, .middle: 0
    case .shoot, .leaf: 1
    }
  }

  /// Depth of the deepest frames that a version of this level makes.
  private var depthOfFrames: Int {
    switch self {
    case .fresh, .anchor: 0
    case .middle: 1
    case .shoot, .leaf: 2
    }
  }

  /// Where a version of this level finds content again.
  var reach: Reach { Reach(depth: depthOfReferences, ownDepth: depthOfFrames) }

  /// The level to try when this one would make a version that is too dear to restore.
  var below: DeltaLevel? { DeltaLevel(rawValue: rawValue - 1) }
}

/// The bases at hand for a push of a database, and what is to be made of it.
package struct DeltaPlan: Sendable {
  package var level: DeltaLevel
  /// It is tried as a leaf first, and is one if it has no more bytes of new pages than this: what the level asks for is due,
  /// but so little does not pay for it.
  package var leafUpTo: Int?
  package var anchor: BaseImage?
  package var middle: BaseImage?
  /// Pages are where they were, mostly: the snapshot is a copy page by page.
  package var keepsPositions: Bool
  /// To be filled with samples of the image, should it be a base itself.
  package var samples: BaseSamples?
  /// Of what comes with the database.
  package var companions: CompanionBases?
  /// What is stored of companions at this target decides what their bases will be.
  package var recordsCompanions = true
  /// What becomes of the version at this target decides what the next ones rest on: where it has none of the bases, the
  /// version is to be one.
  package var decidesBases = false
  /// It is to be a base, however little it stores.
  package var mustBeBase = false
  /// Whether a target has the anchor is of interest, also where nothing rests on that.
  package var asksForAnchor = false

  package init(
    level: DeltaLevel, anchor: BaseImage? = nil, middle: BaseImage? = nil, keepsPositions: Bool = false,
    samples: BaseSamples? = nil
  ) {
    self.level = level
    self.anchor = anchor
    self.middle = middle
    self.keepsPositions = keepsPositions
    self.samples = samples
  }

  /// The same for a target behind the first one: that has decided what the next versions rest on, and the samples of what
  /// becomes a base are taken.
  package var behindFirst: DeltaPlan {
    var plan = self
    (plan.recordsCompanions, plan.decidesBases, plan.samples) = (false, false, nil)
    return plan
  }

  /// Up to how many bytes of new pages a version of this length is a small change: it pays for nothing but itself. Less than
  /// a pack, so that nothing is stored of a leaf that turns out to be no small one.
  package static func smallChange(of length: Int) -> Int { min(length / 64, 4 << 20) }

  /// What versions leave to the small changes after them of what a version may decode: those refer to all that they refer
  /// to, and decode a little more.
  package static func roomForSmallChanges(after length: Int) -> Int { length / 64 }

  /// Without any base: content that is there is referenced, all else is stored whole.
  package static var withoutBases: DeltaPlan { DeltaPlan(level: .leaf) }

  /// Without any base, and all of it is stored anew.
  package static var anew: DeltaPlan { DeltaPlan(level: .fresh) }
}

/// Samples of an image that becomes a base, gathered while it is pushed.
package final class BaseSamples: Sendable {
  private let pages: Int
  private let pageSize: Int
  private let folder: String
  private let begun = Locked<SampleTable?>(nil)

  package init(pages: Int, pageSize: Int, in folder: String) {
    self.pages = pages
    self.pageSize = pageSize
    self.folder = folder
  }

  /// `nil` as long as it seems that the version will be no base.
  var table: SampleTable? { begun.withLock { $0 } }

  package var haveBegun: Bool { table != nil }

  /// The version may become a base after all: samples are taken from now on.
  /// - Throws: `.stateFolder`; `.noSpace` when there is no room for them.
  package func begin() throws(RepositoryError) {
    guard table == nil else { return }
    let made = try SampleTable(pages: pages, pageSize: pageSize, in: folder)
    begun.withLock { $0 = made }
  }

  /// Keeps them beside the image.
  /// - Returns: false when there are none.
  @discardableResult package func write(besides image: String) throws(RepositoryError) -> Bool {
    guard let table else { return false }
    try table.write(to: BaseImage.samplesPath(image))
    return true
  }
}
