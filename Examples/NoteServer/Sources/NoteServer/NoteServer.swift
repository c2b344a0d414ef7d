import Foundation
import Hummingbird
import Logging

/// Notes over HTTP, backed up while they are read and written.
///
///     note-server init     makes the repository at the target, once
///     note-server          serves until SIGTERM or SIGINT
@main enum NoteServer {
  static func main() async {
    // Notes, copies and state are nobody else's business.
    umask(0o077)
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("note-server: \(error)\n".utf8))
      exit((error as? Failure)?.code == "settings" ? 2 : 1)
    }
  }

  private static func run(_ arguments: [String]) async throws {
    let settings = try Settings(environment: ProcessInfo.processInfo.environment)
    let backup = Backup(settings)
    switch arguments {
    case ["init"]: try await backup.makeRepository()
    case []: try await serve(settings, backup)
    default:
      throw Failure(
        .internalServerError, code: "settings", "'\(arguments.joined(separator: " "))' is not understood",
        hint: "Say `note-server init` once, then `note-server`.")
    }
  }

  private static func serve(_ settings: Settings, _ backup: Backup) async throws {
    let logger = Logger(label: "note-server")
    RestoredCopy.removeLeftovers(in: settings.stateFolder)
    let store = try NoteStore(path: settings.database)
    let backups = Backups(backup, of: store, stateFolder: settings.stateFolder, logger: logger)
    // A new release changes the schema only when the database, as the old one left it, is safe.
    try await store.migrate { _ = try await backups.push(tags: ["before-migration"]) }

    let token = try PrivateFile.firstLine(settings.adminTokenFile)
    let application = Application(
      router: router(store, backups, token),
      configuration: ApplicationConfiguration(address: .hostname(settings.host, port: settings.port)),
      services: settings.pushEvery.map {
        [ScheduledPushes(backups: backups, interval: $0, logger: logger)]
      } ?? [],
      logger: logger)
    try await application.runService()
    // Nobody asks any more. The last connection to close brings the -wal home.
    try store.close()
  }

  private static func router(_ store: NoteStore, _ backups: Backups, _ token: String) -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: FailuresAsJSON())
    router.get("health") { _, _ in ["status": "ok"] }
    NoteRoutes(store: store).add(to: router.group("notes"))
    BackupRoutes(backups: backups).add(to: router.group().add(middleware: AdminToken(token)))
    return router
  }
}
