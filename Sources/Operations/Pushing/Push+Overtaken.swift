import Repositories
import Sealing
import Snapshots

extension Push {
  /// While this copy was taken, and sent to other targets, another push may have put a newer one here: an older one must
  /// not come to stand on top of it, as what is newest. A time that lies beyond this push proves nothing: the clock was set,
  /// then or now.
  /// - Throws: `.pushInProgress` with the code `overtaken`.
  func demandNotOvertaken(_ snapshot: Snapshot, by newest: StoredManifest?) throws {
    guard let newest, let time = newest.core?.time else { return }
    let takenAt = UInt64(max(0, snapshot.takenAt))
    guard time > takenAt, .milliseconds(time - takenAt) <= began.duration(to: .now) else { return }
    throw OperationError(
      .pushInProgress, code: "overtaken",
      "version \(newest.id.hex.prefix(8)), which was pushed meanwhile, is newer than the copy that this push has taken",
      hint: "Nothing is lost: the newer one is there. Push again for one of now.")
  }

  /// Rules count a version to the day that its clock said, and what asks for a time may pass it over.
  func tellClockWentBack(to time: UInt64, from newest: StoredManifest?, at target: String) {
    let hour: UInt64 = 3_600_000
    guard let newest, let before = newest.core?.time, before > time, before - time > hour else { return }
    world.reporter.notice(
      "\(target): the clock says \(Times.seconds(time)), the version before, \(newest.id.hex.prefix(8)), is of \(Times.seconds(before)): set the clock, unless it was wrong then"
    )
  }
}
