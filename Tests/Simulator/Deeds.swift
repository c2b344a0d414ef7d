import Repositories
import Sealing
import Storage

/// What a host does in one run of the program.
enum Deed: String {
  case push, restore, forget, unforget, prune, repair

  static func choose(_ dice: inout Dice, _ profile: Profile) -> Deed {
    switch dice.below(24) {
    case 0, 1: .restore
    case 2, 3, 4, 5: profile.prunes ? .forget : .push
    case 6, 7, 8, 9, 10: profile.prunes ? .prune : .push
    case 11, 12, 13: profile.prunes ? .unforget : .push
    case 14: .repair
    default: .push
    }
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
      case .forget: try await forget(session, repository, chain, state)
      case .unforget: try await unforget(session, repository, chain, state)
      case .prune: try await prune(session, repository, chain, state)
      case .repair: try await repair(session, repository, chain, state)
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
    var policy = PushSession.Policy(now: { self.clock(of: host) })
    policy.packsPerPartial = profile.packsPerPartial
    var push = try await PushSession(repository, chain: chain, state: state, policy: policy)
    let place = push.next
    let time = clock(of: host)
    let member = MemberSource(
      content: .image(pageSize: Host.pageSize), path: "app.db", mode: 0o600, modified: time, length: image.count,
      read: { Array(image[$0]) })
    let draft = VersionDraft(
      chain: chain, sequence: place.sequence, previous: place.previous, time: time, host: host.identity,
      database: host.database, method: .pages, flags: [], members: [member], tags: [], note: "", compressionLevel: 1)
    let result = try await push.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in })
    guard !session.isDead else { return }
    // A dead push leaves revisions too; those of this one were put while it ran.
    let revisions = target.names(Layout.versions(of: chain)).compactMap { VersionName($0) }.filter {
      $0.sequence == place.sequence && (stored[$0.objectName] ?? 0) >= began
    }
    if profile.packsPerPartial > 1, revisions.count > 1 { tally.conflicts += 1 }
    promise(result.manifest, chain, image)
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
      if promise(of: version)?.isForgotten == false { throw error }
    }
  }

  /// Whether an error is one that may be: what the network did, a prune that was faster, a fork that there is.
  private func judge(_ error: any Error, _ session: Session) async {
    switch error {
    case let error as StoreError where error.code != .notFound: return
    // What was listed may be gone when it is read, if another prune runs.
    case is StoreError where session.deed != Deed.push.rawValue: return
    case let error as RepositoryError where error.code == .conflict: return
    // What others delete meanwhile looks like a loss, and a prune that cannot tell refuses (`pruneInTheEnd`).
    case let error as RepositoryError where session.deed == Deed.prune.rawValue && Self.doubts.contains(error.code):
      return
    case let error as RepositoryError where session.deed == Deed.unforget.rawValue && error.code == .incomplete: return
    case let error as RepositoryError where error.code == .forked:
      guard await isForked(session) else { break }
      guard session.deed == Deed.push.rawValue else { return }
      tally.forks += 1
      session.host.fork += 1
      return
    default: break
    }
    fail("\(session.name) failed for no good reason: \(Self.words(error))")
  }

  private static let doubts: Set<RepositoryError.Code> = [.hole, .incomplete, .damaged]

  /// Two versions claim one place, and that two machines pushed as one is true.
  private func isForked(_ session: Session) async -> Bool {
    guard let repository = try? await openStraight() else { return false }
    let chain = chain(of: session.owner, in: repository)
    guard mayFork(chain), let history = try? await history(of: chain, repository) else { return false }
    return !history.displaced.isEmpty
  }

  /// Some machine was cloned, or lost what it knew of this chain: for the target it is another one since.
  func mayFork(_ chain: ChainID) -> Bool {
    guard let line = lines[chain.hex] else { return true }
    return beginners.contains(line) || hosts.filter { $0.identity == line.identity }.count > 1
  }

  static func words(_ error: any Error) -> String {
    switch error {
    case let error as RepositoryError: "\(error.code.rawValue), \(error.message)"
    case let error as StoreError: "\(error.code.rawValue), \(error.message)"
    default: "\(error)"
    }
  }
}
