import Sealift

extension Retrieval {
  /// What is said of versions that came back, or would.
  enum Report {
    static func tell(_ outcome: Pull.Outcome, _ terminal: Terminal) {
      let version = outcome.version
      let same = outcome.identical ? "content proved identical" : "content proved before it was made over"
      // What is wrong is the last word of the run.
      let check = outcome.damage == nil ? outcome.check : "damaged"
      let since = outcome.checkedAt == .push ? " (at push; \(same))" : ""
      terminal.notice(
        "'\(version.database)' of \(Times.seconds(version.time)), version \(version.id.prefix(8)), check: \(check)\(since)"
      )
      for line in misgivings(about: version) { terminal.notice(line) }
      if let folder = outcome.supportFolder { terminal.notice("its external files are in \(folder)") }
      if let folder = outcome.companionsFolder { terminal.notice("its companion files are in \(folder)") }
      if !outcome.identical {
        terminal.notice("the file is not byte for byte the version: its SHA-256 is not the one that `show` tells")
      }
    }

    /// - Throws: where standard output would not take it, with the way back: what was replaced is somewhere else now.
    static func tell(_ outcome: Restore.Outcome, _ terminal: Terminal) throws {
      let result = Result {
        if terminal.manner.json {
          try terminal.result(Documents.restore(outcome, notices: terminal.notices))
        } else {
          try terminal.result(outcome.pulled.path ?? "")
        }
      }
      if !terminal.manner.json { notes(outcome, terminal) }
      do { try result.get() } catch {
        var unsaid = OperationError(error)
        unsaid.message += ": \(outcome.pulled.path ?? "the database") was restored"
        if let undo = outcome.undo { unsaid.hint = "To take this back: \(undo)" }
        throw unsaid
      }
    }

    /// All but the line of the result.
    static func notes(_ outcome: Restore.Outcome, _ terminal: Terminal) {
      var pulled = outcome.pulled
      if outcome.mode == .live { pulled.identical = true }
      tell(pulled, terminal)
      for path in outcome.companions { terminal.notice("with it: \(path)") }
      for move in outcome.moved { terminal.notice("\(move.from) is now \(move.to)") }
      if let copy = outcome.undoCopy { terminal.notice("the old content is kept in \(copy)") }
      if let undo = outcome.undo { terminal.notice(wayBack(undo)) }
    }

    /// Copied from where its control characters are shown as escapes, the line would find no such file, do nothing, and
    /// end as if all went well.
    static func wayBack(_ undo: String) -> String {
      guard undo.unicodeScalars.contains(where: \.isControl) else { return "to take this back: \(undo)" }
      return "a path has control characters, so no line is shown that takes this back: --json tells one, as `undo`"
    }

    /// Of `--if-missing`: nothing was done.
    static func alreadyThere(_ path: String, dryRun: Bool, _ terminal: Terminal) throws -> ExitStatus {
      if terminal.manner.json {
        try terminal.result(Documents.alreadyThere(path, dryRun: dryRun, notices: terminal.notices))
      } else {
        terminal.notice("\(path) is already there: nothing is restored")
      }
      return .success
    }

    /// The last word on what came back: that it is damaged says more than that standard output would not take the result.
    /// - Throws: what `tell` threw.
    static func end(
      _ damage: OperationError?, _ terminal: Terminal, telling tell: () throws -> Void = {}
    ) throws -> ExitStatus {
      do { try tell() } catch {
        guard damage != nil else { throw error }
        terminal.tell(OperationError(error))
      }
      guard let damage else { return .success }
      terminal.tell(damage)
      terminal.tellDocument(damage)
      return ExitStatus(damage.kind)
    }

    /// - Returns: the status with which the real thing would be refused, if it would.
    static func show(_ preview: RestorePreview, _ terminal: Terminal) throws -> ExitStatus {
      if terminal.manner.json {
        try terminal.result(Documents.preview(preview, notices: terminal.notices))
      } else {
        for line in lines(preview) { try terminal.result(printable(line)) }
      }
      guard let refusal = preview.refusal else { return .success }
      terminal.tell(refusal)
      terminal.tellDocument(refusal)
      return ExitStatus(refusal.kind)
    }

    static func lines(_ preview: RestorePreview) -> [String] {
      let version = preview.version
      let what =
        "'\(version.database)' of \(version.host), \(Times.seconds(version.time)), version \(version.id.prefix(8)), \(ByteCount.text(version.size))"
      var lines = [
        preview.mode == .live
          ? "would restore \(what), into the database \(preview.path), in one transaction"
          : "would restore \(what), to \(preview.path), mode \(mode(preview.permissions))"
      ]
      lines += forewarnings(of: version).map { "  \($0)" }
      if let free = preview.free {
        lines.append("  \(ByteCount.text(free)) are free there, at most \(ByteCount.text(preview.needed)) are needed")
      }
      if let doubt = preview.doubt { lines.append("  \(doubt)") }
      if !preview.identical, preview.mode != .live { lines.append("  made over: not byte for byte the version") }
      lines += preview.moves.map { "  \($0.from) would become \($0.to)" }
      if let copy = preview.undoCopy { lines.append("  the old content would be kept in \(copy)") }
      lines += (preview.use?.lines ?? []).map { "  \($0)" }
      if let remark = preview.use?.remark { lines.append("  \(remark)") }
      lines += preview.companions.map { "  with the companion \($0)" }
      if let leftOut = preview.leftOut { lines.append("  without its \(leftOut.text), as asked") }
      return lines
    }

    /// What speaks against a version that has not come back yet.
    static func forewarnings(of version: VersionSummary) -> [String] {
      (version.damaged ? ["SQLite's check found it damaged when it was pushed"] : []) + misgivings(about: version)
    }

    /// What was said of a version since it was pushed, and speaks against it.
    static func misgivings(about version: VersionSummary) -> [String] {
      var lines: [String] = []
      if version.drillPassed == false, let time = version.drilledAt {
        lines.append("its drill of \(Times.seconds(time)) failed: \(brief(version.drillText ?? ""))")
      }
      if let damage = version.foundDamaged {
        lines.append("it was found damaged at the target since it was pushed: \(brief(damage))")
      }
      if version.forgotten {
        lines.append("it is forgotten: `sealift unforget \(version.id.prefix(12))` keeps it from the next prune")
      }
      return lines
    }

    /// SQLite's findings may be a hundred lines.
    private static func brief(_ text: String) -> String {
      String(text.split(separator: "\n").joined(separator: ", ").prefix(300))
    }

    static func mode(_ bits: UInt32) -> String {
      let digits = String(bits, radix: 8)
      return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
  }
}
