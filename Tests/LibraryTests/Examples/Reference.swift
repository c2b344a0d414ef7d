import Sealift

// The examples in the documentation of single types and methods, word for word: `DocumentationTests` compares them.

func errors(_ repository: Repository) async throws {
  do {
    try await repository.pull("latest", to: "/srv/app/restored.db")
  } catch let error as SealiftError {
    switch error.kind {
    case .verificationFailed: alarm(error.message)
    case .noSuchVersion: break
    default: log("\(error.message) \(error.hint ?? "")")
    }
  }
}

func keepingACopy() async throws {
  let copy = try await Snapshot.take(of: .file("/var/lib/app/app.db"))
  try copy.move(to: "/srv/copies/app.db")
}

func copyingInSteps() async throws -> Snapshot {
  let copy = try await Snapshot.take(of: .file("/var/lib/app/app.db"), method: .pages, pagesPerStep: 500) { progress in
    if let total = progress.pagesTotal { report(progress.pagesDone, of: total) }
  }
  return copy
}

func copyingAConnection(_ queue: DatabaseQueue) throws -> Snapshot {
  let copy = try queue.read { db in
    try Snapshot.take(of: .connection(db.sqliteConnection))
  }
  return copy
}

func restoringIntoAConnection(_ queue: DatabaseQueue) throws {
  try queue.writeWithoutTransaction { db in
    try Snapshot.restore("/srv/copies/app.db", into: .connection(db.sqliteConnection))
    db.clearSchemaCache()  // of GRDB, which remembers tables; a pool: pool.invalidateReadOnlyConnections() as well
  }
}

func opening() async throws -> Repository.Pushed {
  let repository = try await Repository.open(
    at: .folder("/mnt/backup"), key: .passphraseFile("/etc/app/backup-passphrase"), state: "/var/lib/app/sealift")
  let pushed = try await repository.push(.database(named: "app", at: "/var/lib/app/app.db"))
  return pushed
}

func creating() async throws -> Repository {
  let repository = try await Repository.create(
    at: .folder("/mnt/backup"), key: .passphraseFile("/etc/app/backup-passphrase"), state: "/var/lib/app/sealift")
  return repository
}

func fetchingAKey(from vault: Vault) -> Repository.Key {
  let key = Repository.Key.fetched { .passphrase(try await vault.secret(named: "backup")) }
  return key
}

func pushing(_ repository: Repository) async throws {
  let pushed = try await repository.push(
    .database(named: "app", at: "/var/lib/app/app.db"), tags: ["before-migration"])
  log("version \(pushed.version.id), head \(pushed.version.head)")
}

func pushingWithCompanions(_ repository: Repository) async throws {
  var wiki = Repository.Database.database(named: "wiki", at: "/srv/wiki/wiki.db")
  wiki.companions = ["config.json", .path("uploads", excluding: ["*.tmp", "cache/**"])]
  try await repository.push(wiki)
}

func listing(_ repository: Repository) async throws {
  for version in try await repository.versions(of: "app") where version.tags.contains("before-migration") {
    print(version.id, version.time, version.size)
  }
}

func pulling(_ repository: Repository) async throws -> Repository.Pulled {
  let pulled = try await repository.pull("app:latest", to: "/srv/app/restored.db")
  return pulled
}

func restoringLive(_ repository: Repository) async throws -> Repository.Restored {
  let restored = try await repository.restore("app:latest", live: "/var/lib/app/app.db")
  return restored
}

/// The README's.
func openingAndPushing() async throws -> Repository.Pushed {
  let repository = try await Repository.open(
    at: .folder("/mnt/backup"), key: .passphraseFile("/etc/app/backup-passphrase"), state: "/var/lib/app/sealift")
  let pushed = try await repository.push(.database(named: "app", at: "/var/lib/app/app.db"), tags: ["before-migration"])
  return pushed
}
