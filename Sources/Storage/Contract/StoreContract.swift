/// Every promise of `ObjectStore`, tried on a store: the tests run it on each kind of store and real server, and
/// `sealift doctor` runs it on a person's own target.
///
/// It works below one folder of its own, with a random name, and leaves nothing there.
package enum StoreContract {
  package enum Verdict: Sendable, Hashable {
    case kept
    /// Kept, and there is something a person should know.
    case noted(String)
    /// Not kept, and what was seen instead.
    case broken(String)
  }

  /// What came of one promise.
  package struct Finding: Sendable, Hashable {
    /// The promise as a sentence without its full stop: "it reads exactly the range that was asked for".
    package let promise: String
    package let verdict: Verdict

    package var isBroken: Bool { if case .broken = verdict { true } else { false } }
  }

  /// How many promises there are; leaving no trace is one more.
  package static var promiseCount: Int { promises.count }

  /// What met a trial of a promise and ended it.
  package struct Obstacle: Sendable {
    package let promise: String
    package let error: StoreError
  }

  /// What came of all trials.
  package struct Outcome: Sendable {
    package internal(set) var findings: [Finding] = []
    /// Promises that were not tried, or not to the end.
    package internal(set) var untried: [String] = []
    /// What ended the trials. No verdict on the store: nobody answered, or not to us, or it is full.
    package internal(set) var obstacle: Obstacle?
    /// The credentials may store and not delete: all that they have to for a push, and not for every trial.
    package internal(set) var mayNotDelete = false
    /// The folder where objects of the trials are left.
    package internal(set) var leftovers: String?

    /// Every promise was tried.
    package var isWhole: Bool { obstacle == nil && untried.isEmpty }
  }

  /// As `examine`, for who wants no more than a yes or a no: what ended the trials is a promise that was not kept.
  package static func run(
    on store: any ObjectStore, in folder: String = "doctor", report: @Sendable (Finding) -> Void = { _ in }
  ) async -> [Finding] {
    let outcome = await examine(store, in: folder, report: report)
    guard let obstacle = outcome.obstacle else { return outcome.findings }
    let finding = Finding(promise: obstacle.promise, verdict: .broken(obstacle.error.description))
    report(finding)
    return outcome.findings + [finding]
  }

  /// Tries all promises, one after the other, and cleans up.
  ///
  /// A target that does not keep the first one makes the rest pointless: then that is the only finding. One that cannot
  /// be asked has none.
  /// - Parameters:
  ///   - folder: where to work, without `/` at the end; it need not exist.
  ///   - report: called with each finding when it is there.
  package static func examine(
    _ store: any ObjectStore, in folder: String = "doctor", report: @Sendable (Finding) -> Void = { _ in }
  ) async -> Outcome {
    let room = Room(store: store, folder: "\(folder)/\(String(UInt64.random(in: 0 ... .max), radix: 36))")
    var outcome = Outcome()
    for (number, promise) in promises.enumerated() {
      do throws(StoreError) {
        // Until something could be stored, a refusal is about the credentials and not about what was asked for.
        if let finding = try await judge(promise, in: room, isEarly: number < 2) {
          outcome.findings.append(finding)
          report(finding)
          if finding.isBroken, number == 0 { return outcome }
        } else {
          outcome.untried.append(promise.sentence)
        }
      } catch {
        outcome.obstacle = Obstacle(promise: promise.sentence, error: error)
        // Nothing is there that could be cleaned up.
        if number == 0 { return outcome }
        outcome.untried += promises[number...].map(\.sentence)
        break
      }
    }
    await cleanUp(room, &outcome, report)
    outcome.mayNotDelete = room.mayNotDelete.withLock { $0 }
    return outcome
  }

  private static func cleanUp(_ room: Room, _ outcome: inout Outcome, _ report: @Sendable (Finding) -> Void) async {
    // By a task of its own: who interrupts the trials wants nothing of them to stay.
    let judged = await Task { () -> Result<Finding?, StoreError> in
      do throws(StoreError) { return .success(try await judge(cleaningUp, in: room)) } catch { return .failure(error) }
    }.value
    switch judged {
    case .success(let finding?):
      outcome.findings.append(finding)
      return report(finding)
    case .success(nil): break
    case .failure(let error):
      outcome.obstacle = outcome.obstacle ?? Obstacle(promise: cleaningUp.sentence, error: error)
    }
    outcome.untried.append(cleaningUp.sentence)
    outcome.leftovers = room.folder
  }

  /// A promise, and how to see whether it is kept.
  struct Promise: Sendable {
    let sentence: String
    /// Returns something worth knowing, or `nil`; throws `Broken`, `MayNotDelete`, or what the store threw.
    let trial: @Sendable (Room) async throws -> String?
  }

  /// A promise that was not kept.
  struct Broken: Error { let seen: String }

  /// A deletion was refused, which says something of the credentials alone.
  struct MayNotDelete: Error {}

  /// - Parameter isEarly: a refusal counts as an obstacle.
  /// - Returns: `nil` when these credentials cannot try it.
  /// - Throws: what is no verdict on the store.
  private static func judge(
    _ promise: Promise, in room: Room, isEarly: Bool = false
  ) async throws(StoreError) -> Finding? {
    do {
      let note = try await promise.trial(room)
      return Finding(promise: promise.sentence, verdict: note.map(Verdict.noted) ?? .kept)
    } catch let broken as Broken {
      return Finding(promise: promise.sentence, verdict: .broken(broken.seen))
    } catch is MayNotDelete {
      return nil
    } catch let error as StoreError {
      if error.isObstacle || (isEarly && error.code == .forbidden) { throw error }
      return Finding(promise: promise.sentence, verdict: .broken(error.description))
    } catch {
      throw StoreError(.cancelled, "the trials were interrupted", cause: error)
    }
  }

  private static let cleaningUp = Promise(sentence: "it can be left as it was found") { room in
    for info in try await room.store.list(prefix: room.folder + "/") { try await room.delete(info.name) }
    try expect(try await room.store.list(prefix: room.folder + "/").isEmpty, "objects are still listed")
    return nil
  }

  /// The store under trial and the folder to work in.
  struct Room: Sendable {
    let store: any ObjectStore
    let folder: String
    /// Whether a deletion was refused.
    let mayNotDelete = Locked(false)

    func name(_ path: String) throws -> ObjectName {
      guard let name = ObjectName("\(folder)/\(path)") else { throw Broken(seen: "\(folder)/\(path) is not a name") }
      return name
    }

    func put(_ bytes: [UInt8], at name: ObjectName, ifAbsent: Bool = false) async throws {
      try await store.put(ObjectBody(bytes), at: name, ifAbsent: ifAbsent)
    }

    /// - Throws: `MayNotDelete` when it is refused.
    func delete(_ name: ObjectName) async throws {
      do throws(StoreError) { try await store.delete(name) } catch {
        guard error.code == .forbidden else { throw error }
        mayNotDelete.withLock { $0 = true }
        throw MayNotDelete()
      }
    }

    /// The names listed below `path` within the folder.
    func listed(_ path: String) async throws -> [ObjectName] {
      try await store.list(prefix: "\(folder)/\(path)").map(\.name).sorted()
    }

    /// The code of the error that `work` ends in, `nil` when it ends well.
    /// - Throws: what is no verdict on the store.
    func code(of work: () async throws -> Void) async throws -> StoreError.Code? {
      do {
        try await work()
        return nil
      } catch let error as StoreError {
        if error.isObstacle { throw error }
        return error.code
      }
    }
  }

  /// Bytes that differ everywhere and for every seed, so that shifted, cut or mixed-up answers show.
  static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
    let words = (count + 7) / 8
    let pattern = [UInt64](unsafeUninitializedCapacity: words) { buffer, filled in
      var state = seed &* 0x9E37_79B9_7F4A_7C15
      var index = 0
      while index < words {
        state = state &* 0x5851_F42D_4C95_7F2D &+ 0x1405_7B7E_F767_814F
        buffer[index] = state ^ state >> 33
        index += 1
      }
      filled = words
    }
    return pattern.withUnsafeBytes { Array($0.prefix(count)) }
  }

  static func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw Broken(seen: otherwise()) }
  }
}

extension StoreError {
  /// It says nothing of what a store keeps: nobody answered, or not to us, or there was no room for the trial.
  var isObstacle: Bool {
    switch code {
    case .unauthenticated, .noTarget, .redirected, .clockSkew, .tls, .throttled, .unavailable, .full, .cancelled: true
    case .notFound, .exists, .forbidden, .badRange, .badAnswer, .unsupported, .fileSystem, .unreadable: false
    }
  }
}
