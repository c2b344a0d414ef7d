/// A push of a few packs while prunes without a minimum age run all the time: how often must it begin anew?
///
/// Here a pack is a piece of content and the copy of it that counts now; a copy that was condemned or deleted is replaced by
/// a new one in the next attempt. One writer; prunes one after the other, so many as `runs` says, each with its listing of
/// versions and its listing of packs as two steps.
struct Progress: Model {
  struct Rules {
    /// Copies stored since the last partial manifest that make another one due; 0: none are published.
    var packsPerPartial = 1
    /// A prune that looks for candidates lists packs first and manifests after them.
    var listsPacksFirst = true
    /// A partial manifest counts until a *later* manifest is complete; otherwise until any manifest of its sequence is.
    var partialsOutliveEarlierRevisions = true
    /// No packs are candidates while the newest version is not whole: its push may be about to store it anew.
    var sparesUnsafeNewest = false
  }

  struct State: BitwiseCopyable {
    /// Sets of pieces. Their copy is stored; a record names it; it was deleted.
    var stored: UInt8 = 0
    var condemned: UInt8 = 0
    var deleted: UInt8 = 0
    /// The newest partial manifest, and the complete one of the newest attempt, list their copy.
    var partial: UInt8 = 0
    var manifest: UInt8 = 0
    /// Copies stored since the last partial manifest, in this attempt.
    var unprotected: UInt8 = 0
    var writerStep: UInt8 = 0
    /// How many complete manifests were put.
    var manifests: UInt8 = 0
    /// What the push's listing of records showed when it began.
    var conflicts: UInt8 = 0
    var runs: UInt8 = 0
    var prunerStep: UInt8 = 0
    var candidates: UInt8 = 0
    var protected: UInt8 = 0
    /// Copies stored in all.
    var copies: UInt8 = 0
    var partialIsLive: UInt8 = 0
    var unused: UInt8 = 0
  }

  let pieces: Int
  let runs: Int
  let rules: Rules

  private enum Writer {
    static let storing: UInt8 = 0
    static let listingRecords: UInt8 = 1
    static let listingPacks: UInt8 = 2
    static let acknowledged: UInt8 = 3
  }

  var start: State { State() }
  private var all: UInt8 { UInt8(1 << pieces - 1) }

  func forEachSuccessor(of state: State, _ body: (State, Step) -> Void) {
    write(state, body)
    prune(state, body)
  }

  private func write(_ state: State, _ body: (State, Step) -> Void) {
    var next = state
    switch state.writerStep {
    case Writer.storing where state.partialIsDue(rules.packsPerPartial):
      next.partial = state.stored
      next.partialIsLive = 1
      next.unprotected = 0
      body(next, .writer(0, "puts a partial manifest"))
    case Writer.storing where state.stored == all:
      next.manifest = all
      next.manifests += 1
      next.partialIsLive = 0
      next.unprotected = 0
      next.writerStep = Writer.listingRecords
      next.conflicts = state.condemned
      body(next, .writer(0, "puts its manifest"))
    case Writer.storing:
      let piece = ~state.stored & (state.stored &+ 1)
      next.stored |= piece
      next.unprotected += 1
      next.copies += 1
      body(next, .writer(0, "stores a pack", Names(piece)))
    case Writer.listingRecords:
      // A record that was put while the listing ran may be shown or not.
      next.writerStep = Writer.listingPacks
      body(next, .writer(0, "lists records, conflicts", Names(next.conflicts)))
      if state.condemned != state.conflicts {
        next.conflicts = state.condemned
        body(next, .writer(0, "lists records, conflicts", Names(next.conflicts)))
      }
    case Writer.listingPacks:
      let lost = state.conflicts | state.deleted
      if lost == 0 {
        next.writerStep = Writer.acknowledged
        body(next, .writer(0, "says success"))
      } else {
        next.forgetCopies(lost)
        next.conflicts = 0
        next.writerStep = Writer.storing
        body(next, .writer(0, "must store anew", Names(lost)))
      }
    default: break
    }
  }

  /// Beside pieces, what a listing of manifests may have shown: the newest version is not whole.
  private static let unsafe: UInt8 = 0x80

  private func newestIsUnsafe(_ state: State) -> Bool {
    state.manifests > 0 && (state.manifest != all || state.condemned | state.deleted != 0)
  }

  /// What a prune must leave alone, as manifests say now.
  private func protected(_ state: State) -> UInt8 {
    let live = state.partialIsLive != 0 && (rules.partialsOutliveEarlierRevisions || state.manifests == 0)
    return state.manifest | (live ? state.partial : 0)
  }

  private func prune(_ state: State, _ body: (State, Step) -> Void) {
    var next = state
    switch state.prunerStep {
    case 0:
      guard state.runs < runs, state.writerStep != Writer.acknowledged else { return }
      next.runs += 1
      next.prunerStep = 1
      if rules.listsPacksFirst {
        next.candidates = state.stored & ~state.deleted
      } else {
        next.protected = protected(state) | (newestIsUnsafe(state) ? Self.unsafe : 0)
      }
      body(next, .pruner(0, rules.listsPacksFirst ? "lists packs" : "lists manifests"))
    case 1:
      if rules.listsPacksFirst {
        next.candidates = state.candidates & ~protected(state)
      } else {
        next.candidates = state.stored & ~state.deleted & ~state.protected
      }
      let isSpared = rules.listsPacksFirst ? newestIsUnsafe(state) : state.protected & Self.unsafe != 0
      if rules.sparesUnsafeNewest, isSpared { next.candidates = 0 }
      next.protected = 0
      next.prunerStep = next.candidates == 0 ? 0 : 2
      body(next, .pruner(0, "has listed packs and manifests, candidates", Names(next.candidates)))
    case 2:
      next.condemned |= state.candidates
      next.prunerStep = 3
      body(next, .pruner(0, "puts its condemned record"))
    case 3:
      next.candidates = state.candidates & ~protected(state)
      next.prunerStep = next.candidates == 0 ? 0 : 4
      body(next, .pruner(0, "lists again, will delete", Names(next.candidates)))
    case 4:
      next.deleted |= state.candidates
      next.candidates = 0
      next.prunerStep = 0
      body(next, .pruner(0, "deletes"))
    default: break
    }
  }

  /// Two bounds, in every state: how much is stored twice, and that the push, left alone, ends.
  func complaint(about state: State) -> String? {
    if rules.sparesUnsafeNewest {
      if state.manifests > 3 { return "a fourth attempt" }
      return endsAlone(state)
    }
    let window = max(1, rules.packsPerPartial)
    if Int(state.copies) > pieces + Int(state.runs) * window {
      return "\(state.copies) packs stored for \(pieces), after \(state.runs) prunes that may cost \(window) each"
    }
    if state.manifests > state.runs + 1 { return "\(state.manifests) attempts, after \(state.runs) prunes" }
    return endsAlone(state)
  }

  private func endsAlone(_ state: State) -> String? {
    var alone = state
    for _ in 0..<(8 * pieces + 16) where alone.writerStep != Writer.acknowledged {
      var following = alone
      write(alone) { next, _ in following = next }
      alone = following
    }
    return alone.writerStep == Writer.acknowledged ? nil : "the push does not end although all prunes have"
  }
}

extension Progress.State {
  fileprivate func partialIsDue(_ every: Int) -> Bool { every > 0 && unprotected >= every }

  /// The copies of these pieces are of no use: new ones will be stored.
  fileprivate mutating func forgetCopies(_ lost: UInt8) {
    stored &= ~lost
    condemned &= ~lost
    deleted &= ~lost
    partial &= ~lost
    manifest &= ~lost
    candidates &= ~lost
    protected &= ~lost
  }
}
