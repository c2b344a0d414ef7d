import Repositories
import Sealing
import Storage

/// What somebody was told is safe.
struct Promise {
  let chain: ChainID
  let sequence: UInt64
  let id: Digest
  let image: [UInt8]
  let isTagged: Bool
  /// From the moment somebody began to say so.
  var isForgotten = false
  /// The target lost its manifest: nobody can keep it any more.
  var isLost = false
}

extension Simulation {
  func promise(_ manifest: StoredManifest, _ chain: ChainID, _ image: [UInt8]) {
    guard !promises.contains(where: { $0.id == manifest.id }) else { return }
    tally.acknowledged += 1
    note("acknowledged \(manifest.id.hex.prefix(12)), version \(manifest.name.sequence)")
    promises.append(
      Promise(
        chain: chain, sequence: manifest.name.sequence, id: manifest.id, image: image,
        isTagged: !manifest.facts.tags.isEmpty))
    // Its manifest was listed before its push had ended, and somebody let it go for a newer version.
    if isReleased(manifest.id) { markForgotten(manifest.id) }
  }

  func promise(of version: VersionFacts) -> Promise? { promises.first { $0.id == version.id } }

  /// It must restore: somebody was told that it is safe, and nobody let it go, or it is pinned.
  func isDemanded(_ promise: Promise) -> Bool {
    !promise.isLost && (!promise.isForgotten || pins.contains(promise.id))
  }

  func isDemanded(_ version: VersionFacts) -> Bool { promise(of: version).map(isDemanded) ?? false }

  func history(
    of chain: ChainID, _ repository: Repository, _ state: StateFolder? = nil
  ) async throws -> ChainHistory {
    let objects = try await repository.store.list(prefix: Layout.versions(of: chain))
    return try await repository.history(of: ChainListing(chain: chain, objects: objects), state: state)
  }

  /// The first member of a version, from the revision that a reader takes.
  func read(
    _ version: VersionFacts, in history: ChainHistory, from repository: Repository
  ) async throws -> [UInt8] {
    let readable = try await repository.readable(version, in: history, state: nil)
    let manifest = try await repository.readManifest(readable.name)
    let reader = try await VersionReader(manifest, repository: repository, state: nil, tables: root)
    let destination = ImageInMemory(Int(reader.core.members[0].file?.length ?? 0))
    try await reader.read(member: 0, into: destination) { _ in }
    return destination.content
  }

  /// Carries out work that asks only the simulation itself, and so never waits.
  func straight<Result>(_ body: @escaping (Repository) async throws -> Result) throws -> Result {
    let box = Box<Result>()
    let work = Unchecked(body)
    Task { [self] in
      do { box.result = .success(try await work.value(try await openStraight())) } catch {
        box.result = .failure(error)
      }
    }
    try settle()
    guard let result = box.result else { throw fail("the simulation's own look at the target waits for something") }
    return try result.get()
  }

  /// One promise, drawn by lot, is called in.
  func checkOne() throws {
    let open = promises.indices.filter { isDemanded(promises[$0]) }
    guard !open.isEmpty else { return }
    try check([promises[open[dice.below(open.count)]]])
  }

  func checkEverything() throws {
    try check(promises.filter(isDemanded))
    let chains = Set(promises.map(\.chain.hex)).sorted()
    for chain in chains.compactMap(ChainID.init(hex:)) {
      let history = try straight { try await self.history(of: chain, $0) }
      for problem in history.problems where problem.code != .forked || history.displaced.isEmpty {
        if problem.code == .hole, keepingHoles.contains(chain.hex) { continue }
        throw fail("in the end, the chain \(chain.hex.prefix(12)) has a problem: \(Self.words(problem))")
      }
      guard history.displaced.isEmpty || mayFork(chain) else {
        throw fail("in the end, the chain \(chain.hex.prefix(12)) of one machine is forked")
      }
    }
  }

  private func check(_ wanted: [Promise]) throws {
    var histories: [String: ChainHistory] = [:]
    for promise in wanted {
      do {
        let known = histories[promise.chain.hex]
        let (history, content) = try straight { repository in
          let history =
            if let known { known } else { try await self.history(of: promise.chain, repository) }
          return (history, try await self.restored(promise, from: history, repository))
        }
        histories[promise.chain.hex] = history
        tally.restores += 1
        if content != promise.image { throw fail("LOST: version \(promise.sequence) restores to something else") }
      } catch is Stopped {
        throw Stopped()
      } catch {
        throw fail(
          "LOST: version \(promise.sequence), \(promise.id.hex.prefix(12)), acknowledged: \(Self.words(error))")
      }
    }
  }

  private func restored(
    _ promise: Promise, from history: ChainHistory, _ repository: Repository
  ) async throws -> [UInt8] {
    guard let version = (history.versions + history.displaced).first(where: { $0.id == promise.id }) else {
      throw RepositoryError(.noSuchVersion, "it is not listed")
    }
    if history.isForgotten(version), !pins.contains(promise.id) {
      throw RepositoryError(.noSuchVersion, "it counts as forgotten, and nobody forgot it")
    }
    return try await read(version, in: history, from: repository)
  }
}

final class Box<Value>: @unchecked Sendable { var result: Result<Value, any Error>? }

/// All of it runs on one thread.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

final class ImageInMemory: MemberDestination, @unchecked Sendable {
  private(set) var content: [UInt8]

  init(_ length: Int) { content = [UInt8](repeating: 0, count: length) }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
    buffer.copyBytes(from: content[offset..<offset + buffer.count])
  }
}
