import Sealift

/// A database as a word on the command line names it: with a `/` in it the path of its file, else its name.
struct ChosenDatabase {
  let name: String
  /// As it is configured, or else as its path alone says; `nil` of a name that is not configured.
  let settings: Configuration.DatabaseSettings?
  let isConfigured: Bool

  /// - Parameter name: what a file that is given by its path is to be called; by default as the file is.
  /// - Throws: `.usage`.
  init(_ text: String, name: String?, _ configuration: Configuration) throws {
    guard text.contains("/") else {
      guard name == nil else {
        throw OperationError(
          .usage, "--name is for paths, and '\(text)' has no '/' in it",
          hint: "Write ./\(text) for a file in this folder.")
      }
      // Of two names that look alike only one is in the configuration.
      settings = configuration.databases.first { $0.source.name == text }
      self.name = settings?.source.name ?? text
      isConfigured = settings != nil
      return
    }
    // The path of a configured database is another way to name it.
    let path = try Paths.fromRoot(text)
    if let known = configuration.databases.first(where: {
      Paths.leadToOnePlace($0.source.path, path) && $0.source.name == name ?? $0.source.name
    }) {
      (self.name, settings, isConfigured) = (known.source.name, known, true)
      return
    }
    if let name, !isName(name) {
      throw OperationError(
        .usage, code: "badName", "'\(name)' cannot be the name of a database",
        hint: "A name has 1 to 200 bytes, no '/', no control characters, and does not begin with '-'.")
    }
    guard let chosen = name ?? Paths.databaseName(text), Self.isFileName(chosen) else {
      throw OperationError(
        .usage, code: "badName", "the database at '\(text)' needs a name", hint: "Give it one with --name.")
    }
    var source = DatabaseSource(name: chosen, path: path)
    source.isNamedByPath = name == nil
    (self.name, settings, isConfigured) = (chosen, .init(source: source, targets: nil), false)
  }

  /// What a path gives may have any character but a slash; only nothing at all is no name.
  private static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && !name.contains("/") && name.utf8.count <= 255
  }
}
