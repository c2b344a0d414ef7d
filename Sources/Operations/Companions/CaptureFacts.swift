import Repositories
import Sealing
import Snapshots
import Storage

/// What of a database's companions is not in a version, or not as one might think: paths, and how many there were.
package struct CaptureFacts: Sendable, Equatable {
  package struct Event: Sendable, Equatable {
    /// `missing`, `vanished`, `unsettled`, `unreadable` or `skipped`.
    package var what: String
    package var count: Int
    /// The first of them.
    package var paths: [String]
  }

  package var events: [Event]

  init(_ capture: Remarks.Capture) {
    events = Remarks.Capture.Event.allCases.compactMap { event in
      capture.counts[event].map { Event(what: "\(event)", count: Int($0), paths: capture.paths(event)) }
    }
  }
}

extension Push {
  /// What came with a database.
  package struct Beside: Sendable {
    package var files: Int
    package var bytes: Int
    /// Those of them that are a Core Data store's external files.
    package var externalFiles: Int
    package var externalBytes: Int
    package var store: StoreFacts?
    package var capture: CaptureFacts

    init(_ captured: CompanionCapture.Captured, _ events: [Remarks.Capture.Entry]) {
      files = captured.files
      bytes = captured.bytes
      externalFiles = captured.externalFiles
      externalBytes = captured.externalBytes
      store = captured.store.map(StoreFacts.init)
      capture = CaptureFacts(Remarks.Capture(events))
    }
  }
}

extension CompanionCapture {
  /// What a person should see of it, whichever target's version lacks it.
  func notices(with snapshot: Snapshot) async throws -> [String] {
    let capture = Remarks.Capture(events.ofEveryTarget)
    var notices = Remarks.Capture.Event.allCases.compactMap { event -> String? in
      guard let count = capture.counts[event] else { return nil }
      return "'\(database.name)': \(Self.words(event, Int(count))): \(Self.names(capture.paths(event), of: Int(count)))"
    }
    let captured = try await members(with: snapshot)
    notices += events.own.withLock { $0 }.map { own in
      "'\(database.name)': \(own.path) is \(own.name), and not in the version"
    }
    if captured.isNearlyFull {
      let then = captured.externalFiles > 0 && !asksForSupport ? "external files stay out" : "nothing is pushed"
      notices.append(
        "'\(database.name)': \(captured.sources.count) files and folders come with it, more than four fifths of what one version can hold; with more than it can hold, \(then)"
      )
    }
    let late = Remarks.Capture(events.readLate)
    if let count = late.counts[.unreadable].map({ Int($0) }) {
      let (files, are) = count == 1 ? ("1 file", "is") : ("\(count) files", "are")
      notices.append(
        "'\(database.name)': \(files) could not be read at first, and \(are) in the version as read again: \(Self.names(late.paths(.unreadable), of: count))"
      )
    }
    if let store = captured.found?.remarksForAnyTarget, store.missing > 0 {
      notices.append(
        "'\(database.name)': \(store.missing) of \(store.references) external files that its rows refer to are not in the version: \(Self.names(store.missingNames, of: Int(store.missing)))"
      )
    }
    return notices
  }

  /// What makes a version less than it should be: a companion that an earlier version has is gone, or one was never there
  /// (`Docs/Decisions/0033`); files may not be read; root is led to what is another's; a store's external files are not
  /// there, more of them than in the version before, or all.
  /// - Parameters:
  ///   - store: what was found of the store, where it is one.
  ///   - newest: the version before.
  nonisolated func shortfalls(
    of store: Remarks.Store?, after newest: StoredManifest?, at target: String
  ) -> [OperationError] {
    let capture = Remarks.Capture(events.all)
    var shortfalls: [OperationError] = []
    let before = newest?.body.remarks.store?.missing
    if let outgrown = events.outgrown.withLock({ $0 }) {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "externalDataTooMany",
          "pushing '\(database.name)' to \(target): '\(outgrown.folder)' is not in the version: \(outgrown.why)",
          hint: "The rows are. Keep the folder by other means; \"externalData\": false leaves it out without a word."))
    } else if let store, store.missing > 0, store.missing == store.references || store.missing > before ?? .max {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "externalDataMissing",
          "pushing '\(database.name)' to \(target): \(store.missing) of \(store.references) external files that its rows refer to are not there or cannot be read, and are not in the version",
          hint: store.missing == store.references
            ? "Is the disk mounted? \"externalData\": false leaves external files out, if all are gone for good."
            : "Is the disk mounted? If they are gone for good, nothing need be done: the next push tells only of more.")
      )
    }
    let gone = gone(since: newest)
    if !gone.isEmpty {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "companionGone",
          "pushing '\(database.name)' to \(target): \(Self.names(gone, of: gone.count)) is in earlier versions, and not there any more",
          hint: "Is the disk mounted? Take it out of 'companions' if it is gone for good."
        ))
    }
    let missing = capture.paths(.missing).filter { path in !gone.contains { MemberPath.isSame($0, path) } }
    if !missing.isEmpty {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "companionMissing",
          "pushing '\(database.name)' to \(target): \(Self.names(missing, of: missing.count)) is to come with it, and not there",
          hint: "Look for a typing mistake in 'companions'. What is still to come may be an empty folder until then."))
    }
    let emptied = emptied(since: newest)
    if !emptied.isEmpty {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "companionEmpty",
          "pushing '\(database.name)' to \(target): \(Self.names(emptied, of: emptied.count)) had files in earlier versions, and is empty now, and nobody has emptied it since",
          hint: "Is the disk mounted? If its files are gone for good, `touch` it, or take it out of 'companions'."))
    }
    for (path, refusal) in refused {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "plantedLink",
          "pushing '\(database.name)' to \(target): '\(path)' is not in the version: \(refusal)",
          hint: OperationError.ownLinksHint))
    }
    let others = Remarks.Capture(
      events.all.filter { entry in !refused.contains { MemberPath.isSame($0.path, entry.path) } })
    if let count = others.counts[.unreadable] {
      shortfalls.append(
        OperationError(
          .partlyDone, code: "companionUnreadable",
          "pushing '\(database.name)' to \(target): \(Self.words(.unreadable, Int(count))): \(Self.names(others.paths(.unreadable), of: Int(count)))",
          hint: others.paths(.unreadable).contains { $0.unicodeScalars.contains("\u{FFFD}") }
            ? "A name or a link that is not UTF-8 cannot be kept: rename the file, or leave it out with \"exclude\"."
            : "Run as a user who may read them, or leave them out with \"exclude\"."))
    }
    return shortfalls
  }

  /// What a version says of its capture: of a companion that earlier versions have and that is gone, both that it is missing
  /// and that it vanished; likewise of one that has no files any more, or of which no file can be read. So the next version
  /// knows of it too, and it is told until it is back or not asked for any more. One of the files that are known to have been
  /// in it vanished as well: that tells it from one that was empty anyway.
  nonisolated func remarks(after newest: StoredManifest?) -> Remarks.Capture {
    let there = emptied(since: newest) + barred(since: newest)
    let lost = gone(since: newest) + there
    let files = lost.compactMap { Self.file(in: $0, knownTo: newest) }
    let vanished = (lost + files).map { Remarks.Capture.Entry(.vanished, $0) }
    return Remarks.Capture(events.all + there.map { Remarks.Capture.Entry(.missing, $0) } + vanished)
  }

  /// Companions that are asked for, are in earlier versions, and are not there now.
  private nonisolated func gone(since newest: StoredManifest?) -> [String] {
    let earlier = newest?.core?.members.dropFirst() ?? []
    return Remarks.Capture(events.all).paths(.missing).filter { path in
      Self.isTold(path, by: newest) || earlier.contains { MemberPath.isSameOrAbove(path, $0.path) }
    }
  }

  /// Companions that are asked for, had files in earlier versions, and are empty folders now which nobody has emptied since
  /// the version before: in the place of a disk that is not mounted stands another one.
  private nonisolated func emptied(since newest: StoredManifest?) -> [String] {
    events.empty.withLock { $0 }.filter { path, modified in
      guard let core = newest?.core, Self.isLeftAlone(path, modified, since: core) else { return false }
      // One that is told and in that version all the same was told as empty. Where its time went on since by every clock,
      // somebody has answered.
      if Self.isTold(path, by: newest), let told = core.members.first(where: { MemberPath.isSame($0.path, path) }) {
        return modified <= told.modified || modified < core.time
      }
      return Self.file(in: path, knownTo: newest) != nil
    }.map(\.path)
  }

  /// Whether a folder's time, in milliseconds since 1970, is from before a version. That version's clock may have been
  /// behind, but the time of the folder that it had goes back only where another folder stands in its place. One that is days
  /// ahead of that clock shows how wrong it was: then no time proves that anybody has emptied the folder.
  private static func isLeftAlone(_ path: String, _ modified: UInt64, since core: Core) -> Bool {
    let day: UInt64 = 86_400_000
    let earlier = core.members.first { MemberPath.isSame($0.path, path) }?.modified ?? 0
    let clockWasBehind = earlier > core.time && earlier - core.time > day
    return clockWasBehind || modified < max(core.time, earlier)
  }

  /// Companions that are asked for, had files in earlier versions, and of which no file can be read now: a disk that answers
  /// with errors is as good as one that is not mounted, also where it still tells the names. Asked when all was read.
  private nonisolated func barred(since newest: StoredManifest?) -> [String] {
    let unreadable = events.all.filter { $0.event == .unreadable }.map(\.path)
    let (listed, unread) = (events.files.withLock { $0 }, events.unread)
    let earlier = newest?.core?.members.dropFirst() ?? []
    return database.companions.map(\.memberPath).filter { path in
      let files = listed[MemberPath.key(path)] ?? []
      guard unreadable.contains(where: { MemberPath.isSameOrAbove(path, $0) }),
        files.allSatisfy({ unread.contains(MemberPath.key($0)) })
      else { return false }
      return Self.isTold(path, by: newest)
        || earlier.contains { $0.file != nil && MemberPath.isSameOrAbove(path, $0.path) }
    }
  }

  private static func isTold(_ path: String, by newest: StoredManifest?) -> Bool {
    guard let capture = newest?.body.remarks.capture else { return false }
    return Set(capture.paths(.missing)).intersection(capture.paths(.vanished)).contains { MemberPath.isSame($0, path) }
  }

  /// A file in a companion that a version has, or that it says has vanished with it.
  private static func file(in companion: String, knownTo newest: StoredManifest?) -> String? {
    let own = newest?.core?.members.first { $0.file != nil && MemberPath.isAbove(companion, $0.path) }
    if let own { return own.path }
    guard isTold(companion, by: newest) else { return nil }
    return newest?.body.remarks.capture?.paths(.vanished).first { MemberPath.isAbove(companion, $0) }
  }

  private static func words(_ event: Remarks.Capture.Event, _ count: Int) -> String {
    let (files, are) = count == 1 ? ("1 file", "is") : ("\(count) files", "are")
    return switch event {
    case .missing: "\(count == 1 ? "1 companion is" : "\(count) companions are") not there, and not in the version"
    case .vanished: "\(files) vanished before being read, and \(are) not in the version"
    case .unsettled: "\(files) changed while being captured, and \(are) kept as read"
    case .unreadable: "\(files) could not be read, and \(are) not in the version"
    case .skipped:
      "\(count == 1 ? "1 socket, pipe or device is" : "\(count) sockets, pipes and devices are") not in the version"
    }
  }

  private static func names(_ names: [String], of count: Int) -> String {
    let shown = names.prefix(5).joined(separator: ", ")
    return count > 5 ? "\(shown) and \(count - 5) more" : shown
  }
}
