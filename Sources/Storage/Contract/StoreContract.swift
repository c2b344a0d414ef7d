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

  /// Tries all promises, one after the other, and cleans up.
  ///
  /// A target that does not even answer makes the rest pointless: then that is the only finding.
  /// - Parameters:
  ///   - folder: where to work, without `/` at the end; it need not exist.
  ///   - report: called with each finding when it is there.
  package static func run(
    on store: any ObjectStore, in folder: String = "doctor", report: @Sendable (Finding) -> Void = { _ in }
  ) async -> [Finding] {
    let room = Room(store: store, folder: "\(folder)/\(String(UInt64.random(in: 0 ... .max), radix: 36))")
    var findings: [Finding] = []
    for promise in promises {
      let finding = await judge(promise, in: room)
      findings.append(finding)
      report(finding)
      if finding.isBroken, findings.count == 1 { return findings }
    }
    let cleaning = await judge(cleaningUp, in: room)
    findings.append(cleaning)
    report(cleaning)
    return findings
  }

  /// A promise, and how to see whether it is kept.
  struct Promise: Sendable {
    let sentence: String
    /// Returns something worth knowing, or `nil`; throws `Broken`, or what the store threw.
    let trial: @Sendable (Room) async throws -> String?
  }

  /// A promise that was not kept.
  struct Broken: Error { let seen: String }

  private static func judge(_ promise: Promise, in room: Room) async -> Finding {
    do {
      let note = try await promise.trial(room)
      return Finding(promise: promise.sentence, verdict: note.map(Verdict.noted) ?? .kept)
    } catch let broken as Broken {
      return Finding(promise: promise.sentence, verdict: .broken(broken.seen))
    } catch let error as StoreError {
      return Finding(promise: promise.sentence, verdict: .broken(error.description))
    } catch {
      return Finding(promise: promise.sentence, verdict: .broken("it was interrupted"))
    }
  }

  private static let cleaningUp = Promise(sentence: "it can be left as it was found") { room in
    for info in try await room.store.list(prefix: room.folder + "/") { try await room.store.delete(info.name) }
    try expect(try await room.store.list(prefix: room.folder + "/").isEmpty, "objects are still listed")
    return nil
  }

  /// The store under trial and the folder to work in.
  struct Room: Sendable {
    let store: any ObjectStore
    let folder: String

    func name(_ path: String) throws -> ObjectName {
      guard let name = ObjectName("\(folder)/\(path)") else { throw Broken(seen: "\(folder)/\(path) is not a name") }
      return name
    }

    func put(_ bytes: [UInt8], at name: ObjectName, ifAbsent: Bool = false) async throws {
      try await store.put(ObjectBody(bytes), at: name, ifAbsent: ifAbsent)
    }

    /// The names listed below `path` within the folder.
    func listed(_ path: String) async throws -> [ObjectName] {
      try await store.list(prefix: "\(folder)/\(path)").map(\.name).sorted()
    }

    /// The code of the error that `work` ends in, `nil` when it ends well.
    func code(of work: () async throws -> Void) async throws -> StoreError.Code? {
      do {
        try await work()
        return nil
      } catch let error as StoreError {
        if error.code == .cancelled { throw error }
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
