import Glibc

/// A file that SQLite made beside a database because we read it.
struct AppearedSideFile {
  private let path: String
  private let belongsToOwner: Bool

  init(_ path: String, of database: String) {
    self.path = path
    var own = stat()
    var source = stat()
    belongsToOwner = stat(path, &own) != 0 || stat(database, &source) != 0 || own.st_uid == source.st_uid
  }

  var remark: String {
    belongsToOwner
      ? "SQLite made \(path) while reading; it is harmless and belongs to the database"
      : "SQLite made \(path) while reading, as this user's file: the database's owner may not be able to open the database "
        + "until it is removed. Run sealift as the owner of the database."
  }
}
