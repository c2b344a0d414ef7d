import Logging
import ServiceLifecycle

/// Pushes the database at the start and then again and again. A push of what has not changed costs nothing.
struct ScheduledPushes: Service {
  let backups: Backups
  let interval: Duration
  let logger: Logger

  /// Returns when the server shuts down; a push that runs then is cancelled, which leaves nothing behind.
  func run() async throws {
    do {
      try await cancelWhenGracefulShutdown {
        while true {
          await push()
          try await Task.sleep(for: interval)
        }
      }
    } catch is CancellationError {}
  }

  /// A target that is away now is tried again next time: no reason to stop serving notes.
  private func push() async {
    do {
      _ = try await backups.push(tags: [])
    } catch {
      guard !Task.isCancelled else { return }
      logger.error("scheduled backup failed", metadata: ["error": "\(error)"])
    }
  }
}
