extension Push.Request {
  /// What the format cannot hold (`Docs/Format.md` §1, §6) is refused before anything is read: names have 1 to 65,535
  /// bytes without NUL, tags and notes up to 65,535.
  /// - Throws: `.usage`.
  func demandFittingTexts(host: String) throws {
    for (what, name) in [("the name of the host", host), ("the name of the database", database.name)] {
      guard !name.isEmpty, !name.utf8.contains(0) else {
        throw OperationError(
          .usage, code: "badName", "\(what) is empty or holds a NUL byte", hint: "Give it a name in the configuration.")
      }
      try Self.demandShort(name, what)
    }
    try database.demandFittingCompanions()
    for tag in database.tags + tags { try Self.demandShort(tag, "a tag") }
    try Self.demandShort(note, "the note")
    try Self.demandFew(database.tags + tags)
  }

  static func demandFew(_ tags: [String]) throws {
    guard tags.count <= 1000 else {
      throw OperationError(
        .usage, code: "tooManyTags", "a version cannot have \(tags.count) tags", hint: "Give at most 1000 tags.")
    }
  }

  static func demandShort(_ text: String, _ what: String) throws {
    guard text.utf8.count <= Int(UInt16.max) else {
      throw OperationError(
        .usage, code: "textTooLong", "\(what) has \(text.utf8.count) bytes",
        hint: "Shorten it to at most \(UInt16.max) bytes.")
    }
  }
}
