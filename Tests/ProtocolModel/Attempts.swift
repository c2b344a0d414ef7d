/// One machine that pushes again and again, whose manifests and tombstones fail and arrive late; and prunes beside it.
///
/// What `Protocol` leaves out is here: places in a chain, and what a machine remembers of a manifest that it tried to store
/// (`Docs/Decisions/0014-attempts.md`). Every push that writes makes a version of its own, which needs one pack of its own; every push
/// may be cut anywhere. Nobody forgets a version.
struct Attempts: Model {
  struct Rules {
    /// What is about to be stored is noted before; otherwise once it is known to be there.
    var notesBefore = true
    /// What was given up stays given up, whatever listings show later.
    var staysGivenUp = true
    /// The note lasts until a later version is acknowledged; otherwise until the tombstone was sent.
    var keepsNoteOfGivenUp = true
    /// A version that is there already is acknowledged by listings taken after it was seen.
    var looksAgain = true
    /// Listings leave packs out.
    var shortListings = false
  }

  /// Versions are bits; where one of them is meant, numbers from 1, and 0 is the one from before.
  struct State: BitwiseCopyable {
    var manifests: UInt8 = 0
    var lateManifests: UInt8 = 0
    /// Versions that a tombstone stands for.
    var tombstones: UInt8 = 0
    var lateTombstones: UInt8 = 0
    /// Packs that are there.
    var packs: UInt8 = 0
    var condemnedPacks: UInt8 = 0
    var condemnedManifests: UInt8 = 0
    var acknowledged: UInt8 = 0
    /// By version: its place, and what it continues.
    var places: (UInt8, UInt8, UInt8) = (0, 0, 0)
    var previous: (UInt8, UInt8, UInt8) = (0, 0, 0)
    /// Pushes that began.
    var pushes: UInt8 = 0
    var step: UInt8 = 0
    var attempt: UInt8 = 0
    var isGivenUp: UInt8 = 0
    /// What the push took for the end of the chain, and its place.
    var last: UInt8 = 0
    var lastPlace: UInt8 = 0
    /// Of the packs, those that a listing showed and no record named; and the version they are looked at for.
    var held: UInt8 = 0
    var subject: UInt8 = 0
    var prunes: UInt8 = 0
    var prunerStep: UInt8 = 0
    var doomedPacks: UInt8 = 0
    var doomedManifests: UInt8 = 0
    var unused: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0, 0, 0)
  }

  let pushes: Int
  let prunes: Int
  let rules: Rules

  private enum At {
    static let beginning: UInt8 = 0
    static let listingVersions: UInt8 = 1
    static let storingAgain: UInt8 = 2
    static let tombstone: UInt8 = 3
    static let content: UInt8 = 4
    static let note: UInt8 = 5
    static let manifest: UInt8 = 6
    static let listingRecords: UInt8 = 7
    static let listingPacks: UInt8 = 8
  }

  var start: State { State() }

  func forEachSuccessor(of state: State, _ body: (State, Step) -> Void) {
    deliver(state, body)
    push(state, body)
    prune(state, body)
    guard state.step != At.beginning else { return }
    var next = state
    next.endPush()
    body(next, .writer(0, "is cut"))
  }

  private func deliver(_ state: State, _ body: (State, Step) -> Void) {
    Names(state.lateManifests).forEachMember { version in
      var next = state
      next.lateManifests &= ~UInt8(version)
      next.manifests |= UInt8(version)
      body(next, Step(.network, "delivers a manifest late", version))
    }
    Names(state.lateTombstones).forEachMember { version in
      var next = state
      next.lateTombstones &= ~UInt8(version)
      next.tombstones |= UInt8(version)
      body(next, Step(.network, "delivers a tombstone late", version))
    }
  }

  // MARK: Push

  private func push(_ state: State, _ body: (State, Step) -> Void) {
    var next = state
    switch state.step {
    case At.beginning:
      guard state.pushes < pushes else { return }
      next.pushes += 1
      next.step = At.listingVersions
      let held = state.packs & ~state.condemnedPacks
      next.held = held
      body(next, .writer(0, "lists records and packs", Names(held)))
      guard rules.shortListings else { return }
      Names(held).forEachMember { pack in
        next.held = held & ~UInt8(pack)
        body(next, .writer(0, "lists records and packs, and is not shown", pack))
      }
    case At.listingVersions:
      (next.last, next.lastPlace) = state.end
      next.step = settles(next)
      body(next, .writer(0, "lists versions and tombstones", Names(state.manifests)))
    case At.storingAgain:
      next.manifests |= state.attempt.bit
      next.last = state.attempt
      next.lastPlace += 1
      next.step = At.content
      body(next, .writer(0, "stores the manifest that it tried before", Names(state.attempt.bit)))
      next = state
      next.lateManifests |= state.attempt.bit
      next.endPush()
      body(next, .writer(0, "tries the manifest that it tried before, and no answer comes"))
    case At.tombstone: giveUp(state, body)
    case At.content:
      next.packs |= state.pushes.bit
      next.step = At.note
      body(next, .writer(0, "stores its pack", Names(state.pushes.bit)))
      // Or its content is that of the newest version, which may be one that nobody was told of.
      guard state.last != 0, state.manifests & state.last.bit != 0, state.tombstones & state.last.bit == 0,
        state.held & state.last.bit != 0
      else { return }
      next = state
      next.subject = state.last
      next.step = At.listingRecords
      if rules.looksAgain { next.held = 0 } else { acknowledge(&next) }
      body(next, .writer(0, "finds the content of the newest version", Names(state.last.bit)))
    case At.note:
      next.setPlace(of: state.pushes, state.lastPlace + 1, after: state.last)
      next.subject = state.pushes
      next.step = At.manifest
      if rules.notesBefore { next.note(state.pushes) }
      body(next, .writer(0, "notes what it is about to store"))
    case At.manifest:
      next.manifests |= state.subject.bit
      if !rules.notesBefore { next.note(state.subject) }
      next.step = At.listingRecords
      next.held = 0
      body(next, .writer(0, "stores its manifest", Names(state.subject.bit)))
      next = state
      next.lateManifests |= state.subject.bit
      next.endPush()
      body(next, .writer(0, "tries its manifest, and no answer comes", Names(state.subject.bit)))
    case At.listingRecords:
      guard state.condemnedPacks & state.subject.bit == 0, state.condemnedManifests & state.subject.bit == 0 else {
        next.endPush()
        return body(next, .writer(0, "lists records: conflict"))
      }
      next.step = At.listingPacks
      body(next, .writer(0, "lists records: none names what it needs"))
    case At.listingPacks:
      guard state.packs & state.subject.bit != 0 else {
        next.endPush()
        return body(next, .writer(0, "lists packs: some are gone"))
      }
      acknowledge(&next)
      body(next, .writer(0, "lists packs: all are there, says success"))
    default: break
    }
  }

  private func acknowledge(_ state: inout State) {
    state.acknowledged |= state.subject.bit
    state.note(0)
    state.endPush()
  }

  /// What is to be done first about the manifest that was tried last.
  private func settles(_ state: State) -> UInt8 {
    let tried = state.attempt
    guard tried != 0, state.tombstones & tried.bit == 0 else { return At.content }
    let isGivenUp = rules.staysGivenUp && state.isGivenUp != 0
    if state.manifests & tried.bit != 0 { return isGivenUp && state.last == tried ? At.tombstone : At.content }
    guard state.place(of: tried) == state.lastPlace + 1, state.previous(of: tried) == state.last else {
      return At.content
    }
    return !isGivenUp && state.held & tried.bit != 0 ? At.storingAgain : At.tombstone
  }

  private func giveUp(_ state: State, _ body: (State, Step) -> Void) {
    if state.isGivenUp == 0 {
      var next = state
      next.isGivenUp = 1
      return body(next, .writer(0, "notes that it gives up", Names(state.attempt.bit)))
    }
    var next = state
    next.tombstones |= state.attempt.bit
    (next.last, next.lastPlace) = (state.attempt, state.place(of: state.attempt))
    next.step = At.content
    body(next, .writer(0, "stores a tombstone in its place", Names(state.attempt.bit)))
    next = state
    next.lateTombstones |= state.attempt.bit
    if !rules.keepsNoteOfGivenUp { next.note(0) }
    next.endPush()
    body(next, .writer(0, "tries a tombstone, and no answer comes"))
  }

  // MARK: Prune

  /// What is there and nothing needs: packs of versions that no manifest names, and versions under a tombstone but the newest.
  private func superfluous(_ state: State) -> (packs: UInt8, manifests: UInt8) {
    let newest = state.newestManifest
    let dead = state.manifests & state.tombstones & ~newest
    return (state.packs & ~(state.manifests & ~dead), dead)
  }

  private func prune(_ state: State, _ body: (State, Step) -> Void) {
    var next = state
    switch state.prunerStep {
    case 0:
      guard state.prunes < prunes else { return }
      let (packs, manifests) = superfluous(state)
      guard packs | manifests != 0 else { return }
      next.prunes += 1
      (next.doomedPacks, next.doomedManifests) = (packs, manifests)
      next.prunerStep = 1
      body(next, .pruner(0, "lists all and chooses packs", Names(packs)))
    case 1:
      next.condemnedPacks |= state.doomedPacks
      next.condemnedManifests |= state.doomedManifests
      next.prunerStep = 2
      body(next, .pruner(0, "puts its condemned record"))
    case 2:
      let (packs, manifests) = superfluous(state)
      next.doomedPacks &= packs
      next.doomedManifests &= manifests
      next.prunerStep = 3
      body(next, .pruner(0, "lists again, will delete packs", Names(next.doomedPacks)))
    default:
      next.packs &= ~state.doomedPacks
      next.manifests &= ~state.doomedManifests
      (next.doomedPacks, next.doomedManifests) = (0, 0)
      next.prunerStep = 0
      body(next, .pruner(0, "deletes"))
    }
  }

  // MARK: What must hold

  func complaint(about state: State) -> String? {
    let known = state.manifests | state.tombstones
    for version in 1...UInt8(pushes) where known & version.bit != 0 {
      for other in 1..<version where known & other.bit != 0 && state.place(of: other) == state.place(of: version) {
        return "versions \(other) and \(version) claim one place: one machine looks like two"
      }
      let before = state.previous(of: version)
      if before != 0, known & before.bit == 0 { return "nothing explains what stands before version \(version)" }
    }
    let lost = state.acknowledged & ~(state.manifests & state.packs)
    if lost != 0 { return "an acknowledged version is lost" }
    if state.acknowledged & state.tombstones != 0 {
      return "an acknowledged version is forgotten, and nobody forgot it"
    }
    return nil
  }
}

extension UInt8 {
  /// Of a version; nothing for the one from before.
  fileprivate var bit: UInt8 { self == 0 ? 0 : 1 << (self - 1) }
}

extension Attempts.State {
  func place(of version: UInt8) -> UInt8 {
    switch version {
    case 1: places.0
    case 2: places.1
    default: places.2
    }
  }

  func previous(of version: UInt8) -> UInt8 {
    switch version {
    case 1: previous.0
    case 2: previous.1
    default: previous.2
    }
  }

  fileprivate mutating func setPlace(of version: UInt8, _ place: UInt8, after before: UInt8) {
    switch version {
    case 1: (places.0, previous.0) = (place, before)
    case 2: (places.1, previous.1) = (place, before)
    default: (places.2, previous.2) = (place, before)
    }
  }

  /// The last version that is there or that a tombstone stands for, and its place.
  fileprivate var end: (version: UInt8, place: UInt8) {
    last(in: manifests | tombstones)
  }

  fileprivate var newestManifest: UInt8 { last(in: manifests).version.bit }

  private func last(in versions: UInt8) -> (version: UInt8, place: UInt8) {
    var found: (version: UInt8, place: UInt8) = (0, 0)
    for version: UInt8 in 1...3 where versions & version.bit != 0 && place(of: version) > found.place {
      found = (version, place(of: version))
    }
    return found
  }

  fileprivate mutating func note(_ version: UInt8) {
    attempt = version
    isGivenUp = 0
  }

  /// What it saw is gone; what it noted stays.
  fileprivate mutating func endPush() {
    step = 0
    last = 0
    lastPlace = 0
    held = 0
    subject = 0
  }
}
