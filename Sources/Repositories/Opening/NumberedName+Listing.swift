import Storage

extension NumberedName {
  /// The one that counts, if it is authentic, comes first (`Docs/Format.md` §5).
  static func newestFirst(_ names: [NumberedName]) -> [NumberedName] {
    names.sorted { ($0.number, $0.objectName.text) > ($1.number, $1.objectName.text) }
  }
}

extension Array where Element == ObjectInfo {
  /// The numbered names of a listing whose objects are whole: others are puts that never ended.
  func whole(below prefix: String) -> [NumberedName] {
    compactMap { info in NumberedName(info.name, prefix: prefix).flatMap { $0.length == info.size ? $0 : nil } }
  }

  /// Those of the others.
  func cut(below prefix: String) -> [NumberedName] {
    compactMap { info in NumberedName(info.name, prefix: prefix).flatMap { $0.length == info.size ? nil : $0 } }
  }
}
