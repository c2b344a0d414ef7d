import Sealift

extension Companion {
  /// `"companions": ["attachments", { "path": "/srv/files", "exclude": ["*.tmp"] }]`. Relative ones stay so: they begin at the
  /// folder of the database.
  /// - Throws: `OperationError` of kind `.usage`.
  static func list(_ section: ConfigurationSection, of databasePath: String) throws -> [Companion] {
    let companions = try section.list(
      "companions", "a list of paths, or of objects with 'path' and 'exclude'",
      text: { Companion(try section.expanded($0, of: "companions")) },
      section: { try Companion($0) },
      shown: { $0.exclude.isEmpty ? $0.path : "\($0.path) without \($0.exclude.joined(separator: " "))" })
    guard let companions else { return [] }
    if let mistake = Companion.mistake(in: companions, of: databasePath) {
      throw section.wrong("companions", mistake)
    }
    return companions
  }

  private init(_ section: ConfigurationSection) throws {
    guard let path = try section.path("path") else {
      throw section.missing("path", "a companion needs the path of its file or folder")
    }
    self.init(path, exclude: try section.texts("exclude") ?? [])
    try section.finish()
  }
}
