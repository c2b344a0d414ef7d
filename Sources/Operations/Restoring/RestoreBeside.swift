import Repositories
import Storage

/// What comes with a version, put where a restore wants it: into their own places beside a database that is restored
/// to where it is used, else into `FILE.companions` beside a new file.
struct RestoreBeside {
  private var published: StagedCompanions.Published?
  private var placed: CompanionsPlace.Placed?
  private let place: CompanionsPlace?

  /// Nothing stands where it was when this throws.
  init(
    _ found: FoundVersion, _ reader: VersionReader, beside path: String, _ restore: Restore, _ request: Restore.Request
  ) async throws {
    guard request.putsCompanionsInPlace else {
      published = try await restore.pull.publishCompanions(of: found, reader, beside: path)
      place = nil
      return
    }
    let done = Counter()
    let staged = try await StagedCompanions.restore(reader, beside: path) { [reporter = restore.world.reporter] count in
      reporter.progress(
        Progress(.fetching, subject: found.summary.database, bytesDone: done.add(count), bytesTotal: nil))
    }
    place = staged.map { CompanionsPlace($0, beside: path) }
    do {
      placed = try place?.put(replacing: request.mode != .new, time: Times.compact(restore.world.now()))
    } catch {
      staged?.discard()
      throw error
    }
  }

  /// Everything as it was before.
  func takeBack() {
    published?.discard()
    if let placed { place?.takeBack(placed) }
  }

  /// Tells a restore's outcome of it.
  func tell(_ outcome: inout Restore.Outcome) {
    outcome.pulled.companionsFolder = published?.folder
    outcome.pulled.supportFolder = published?.supportFolder
    guard let placed else { return }
    outcome.companions = placed.made
    outcome.moved += placed.movedAside.map { Restore.Move(from: $0.from, to: $0.to) }
    if !placed.undo.isEmpty { outcome.undo = ([outcome.undo].compactMap { $0 } + placed.undo).joined(separator: "; ") }
  }
}
