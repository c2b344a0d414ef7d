import Repositories
import Sealing
import Storage

/// What somebody was told is safe.
struct Promise {
  let chain: ChainID
  let sequence: UInt64
  let id: Digest
  let image: [UInt8]
  /// From the moment somebody began to say so.
  var isForgotten = false
}

extension Simulation {
  func promise(_ manifest: StoredManifest, _ chain: ChainID, _ image: [UInt8]) {
    guard !promises.contains(where: { $0.id == manifest.id }) else { return }
    tally.acknowledged += 1
    note("acknowledged \(manifest.id.hex.prefix(12)), version \(manifest.name.sequence)")
    promises.append(Promise(chain: chain, sequence: manifest.name.sequence, id: manifest.id, image: image))
    // Its manifest was listed before its push had ended, and somebody let it go for a newer version.
    if isReleased(manifest.id) { markForgotten(manifest.id) }
  }

  func promise(of version: VersionFacts) -> Promise? { promises.first { $0.id == version.id } }

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
    let open = promises.indices.filter { !promises[$0].isForgotten }
    guard !open.isEmpty else { return }
    try check([promises[open[dice.below(open.count)]]])
  }

  func checkEverything() throws {
    try check(promises.filter { !$0.isForgotten })
    let chains = Set(promises.map(\.chain.hex)).sorted()
    for chain in chains.compactMap(ChainID.init(hex:)) {
      let history = try straight { try await self.history(of: chain, $0) }
      for problem in history.problems where problem.code != .forked || history.displaced.isEmpty {
        throw fail("in the end, the chain \(chain.hex.prefix(12)) has a problem: \(Self.words(problem))")
      }
      guard history.displaced.isEmpty || mayFork(chain) else {
        throw fail("in the end, the chain \(chain.hex.prefix(12)) of one machine is forked")
      }
    }
  }

  private func check(_ wanted: [Promise]) throws {
    for promise in wanted {
      do {
        let content = try straight { try await self.restored(promise, $0) }
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

  private func restored(_ promise: Promise, _ repository: Repository) async throws -> [UInt8] {
    let history = try await history(of: promise.chain, repository)
    guard let version = (history.versions + history.displaced).first(where: { $0.id == promise.id }) else {
      throw RepositoryError(.noSuchVersion, "it is not listed")
    }
    if history.isForgotten(version) {
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
