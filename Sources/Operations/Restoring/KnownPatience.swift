extension Restore {
  /// How long pushes of the database at a path wait for locks.
  /// - Parameter known: that, by the paths of the configuration.
  /// - Returns: `nil` where none of those is that database.
  package static func busyTimeout(at path: String, of known: [String: Duration]) -> Duration? {
    busyTimeout(at: path, of: known) { try? realPlace(of: $0) }
  }

  /// A path of another last name is never looked at: it may lie on a mount that does not answer, and has nothing to do
  /// with this database.
  static func busyTimeout(
    at path: String, of known: [String: Duration], resolving resolve: (String) -> String?
  ) -> Duration? {
    if let own = known.first(where: { MemberPath.isSame($0.key, path) }) { return own.value }
    guard let real = resolve(path) else { return nil }
    let names = Set([path, real].map(lastName))
    let alike = known.filter { names.contains(lastName(of: $0.key)) }.sorted { $0.key < $1.key }
    return alike.first { one in resolve(one.key).map { MemberPath.isSame($0, real) } ?? false }?.value
  }

  private static func lastName(of path: String) -> [UInt8] { MemberPath.key(MemberPath.components(path).last ?? "") }
}
