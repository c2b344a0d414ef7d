import Sealift

// The code of the article "Five minutes", word for word: `DocumentationTests` compares them.

private let target = Repository.Target.folder("/mnt/backup")
private let key = Repository.Key.passphraseFile("/etc/app/backup-passphrase")
private let state = "/var/lib/app/sealift"

func makeRepository() async throws {
  _ = try await Repository.create(at: target, key: key, state: state)
}

func openRepository() async throws -> Repository {
  try await Repository.open(at: target, key: key, state: state)
}

func targets(secretKey: String, password: String) -> [Repository.Target] {
  let bucket = Repository.Target.s3(
    bucket: "backups", prefix: "app", endpoint: "https://s3.example.com",
    credentials: .keys(id: "AKIA…", secret: secretKey))
  let cloud = Repository.Target.webDAV(
    "https://cloud.example.com/remote.php/dav/files/me/backup", user: "me", password: password)
  return [bucket, cloud]
}

func pushBeforeMigrating(_ repository: Repository) async throws {
  let pushed = try await repository.push(
    .database(named: "app", at: "/var/lib/app/app.db"), tags: ["before-migration"]
  ) { progress in
    guard enoughSpaceIsLeft() else { throw TooLittleSpace() }
    report(progress.bytesDone, of: progress.bytesTotal)
  }
  log("version \(pushed.version.id), \(pushed.version.bytesNew) bytes new")
}

func newestBeforeMigration(_ repository: Repository) async throws -> Repository.Version? {
  let versions = try await repository.versions(of: "app")
  for problem in versions.problems { log(problem.message) }
  return versions.last { $0.tags.contains("before-migration") }
}

func bringBack(_ version: Repository.Version, _ repository: Repository) async throws {
  let pulled = try await repository.pull(version.id, to: "/var/lib/app/restored.db")
  log("\(pulled.path), check: \(pulled.check)")
}

func restore(_ path: String, into queue: DatabaseQueue) throws {
  try queue.writeWithoutTransaction { db in
    try Snapshot.restore(path, into: .connection(db.sqliteConnection))
    db.clearSchemaCache()  // GRDB remembers tables and statements; those were of the old content
  }
}

func export(_ queue: DatabaseQueue, to path: String) throws {
  let copy = try queue.read { db in
    try Snapshot.take(of: .connection(db.sqliteConnection), pagesPerStep: 100)
  }
  try copy.move(to: path)
}

func push(_ database: Repository.Database, to repository: Repository) async {
  do {
    try await repository.push(database)
  } catch let error as SealiftError {
    switch error.kind {
    case .pushInProgress: log("another push of this database is running")
    case .sourceUnreadable: alarm("\(error.message). \(error.hint ?? "")")
    default: log("not pushed: \(error.message)")
    }
  } catch {
    log("not pushed: \(error)")
  }
}
