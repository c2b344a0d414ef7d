import Operations
import Repositories
import Sealing
import Storage

/// What a host does in one run of the program.
enum Deed: String {
  case push, restore, forget, unforget, prune, repair, pin, unpin, mark, giveUp

  static func choose(_ dice: inout Dice, _ profile: Profile, isLost: Bool) -> Deed {
    let deed: Deed =
      switch dice.below(28) {
      case 0, 1: .restore
      case 2, 3, 4, 5, 6: .forget
      case 7, 8, 9, 10, 11: .prune
      case 12, 13: .unforget
      case 14: .repair
      case 15, 16: .pin
      case 17: .unpin
      case 18: .mark
      case 19, 20: isLost ? .giveUp : .push
      default: .push
      }
    return profile.prunes || deed == .restore || deed == .repair ? deed : .push
  }
}

extension Simulation {
  func carryOut(_ deed: Deed, _ session: Session) async {
    do {
      let repository = try await open(session)
      let chain = chain(of: session.owner, in: repository)
      lines[chain.hex] = session.owner.line
      let state = try StateFolder(session.host.state, repository: repository.id)
      switch deed {
      case .push: try await push(session, repository, chain, state)
      case .restore: try await restore(session, repository, chain, state)
      case .forget: try await forget(session)
      case .unforget: try await unforget(session, repository, chain, state)
      case .prune: try await prune(session, repository, chain, state)
      case .repair: try await repair(session, repository, chain, state)
      case .pin: try await pin(session)
      case .unpin: try await unpin(session)
      case .mark: try await mark(session, repository, chain, state)
      case .giveUp: try await giveUp(session)
      }
      if !session.isDead { note("\(session.name) ends") }
    } catch {
      guard !session.isDead else { return }
      note("\(session.name) fails: \(Self.words(error))")
      if deed == .push { tally.failedPushes += 1 }
      if deed == .prune { tally.refusedPrunes += 1 }
      await judge(error, session)
    }
  }

  func chain(of host: Host, in repository: Repository) -> ChainID {
    repository.keys.keyring.chainID(host: host.identity, database: host.database, fork: host.fork)
  }

  private func push(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let host = session.host
    let began = now
    host.work(&dice)
    let image = host.image
    let (result, sequence) = try await push(image, of: host, repository, chain, state, waits(of: session))
    guard !session.isDead else { return }
    // A dead push leaves revisions too; those of this one were put while it ran.
    let revisions = target.names(Layout.versions(of: chain)).compactMap { VersionName($0) }.filter {
      $0.sequence == sequence && (stored[$0.objectName] ?? 0) >= began
    }
    if profile.packsPerPartial > 1, revisions.count > 1 { tally.conflicts += 1 }
    promise(result.manifest, chain, image)
  }

  private func push(
    _ image: [UInt8], of host: Host, _ repository: Repository, _ chain: ChainID, _ state: StateFolder,
    _ waits: StoreClock = .system
  ) async throws -> (result: PushSession.Result, sequence: UInt64) {
    var policy = PushSession.Policy(now: { self.clock(of: host) })
    policy.clock = waits
    policy.packsPerPartial = profile.packsPerPartial
    var push = try await PushSession(repository, chain: chain, state: state, policy: policy)
    let place = push.next
    let time = clock(of: host)
    let member = MemberSource(
      content: .image(pageSize: Host.pageSize), path: "app.db", mode: 0o600, modified: time, length: image.count,
      read: { Array(image[$0]) })
    let draft = VersionDraft(
      chain: chain, sequence: place.sequence, previous: place.previous, time: time, host: host.identity,
      database: host.database, method: .pages, flags: [], members: [member], tags: dice.once(in: 8) ? [Self.tag] : [],
      note: "", compressionLevel: 1)
    return (try await push.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in }), place.sequence)
  }

  /// What was there before anything went wrong: a few versions of every host.
  func playPast() throws {
    for host in hosts {
      for _ in 0..<dice.below(4) {
        host.work(&dice)
        let image = host.image
        try straight { repository in
          let chain = self.chain(of: host, in: repository)
          self.lines[chain.hex] = host.line
          let state = try StateFolder(host.state, repository: repository.id)
          let (result, _) = try await self.push(image, of: host, repository, chain, state)
          self.promise(result.manifest, chain, image)
        }
        now += UInt64(dice.below(40 * 3_600_000))
      }
    }
  }

  private func restore(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let history = try await history(of: chain, repository, state)
    let known = history.versions.filter { promise(of: $0) != nil }
    guard !known.isEmpty else { return }
    let version = known[dice.below(known.count)]
    do {
      let content = try await read(version, in: history, from: repository)
      guard let promise = promise(of: version) else { return }
      tally.restores += 1
      if content != promise.image { fail("\(session.name) restored something else as version \(version.sequence)") }
    } catch {
      // A prune may take what somebody reads, once it was forgotten; nothing else.
      if isDemanded(version) { throw error }
    }
  }
}
