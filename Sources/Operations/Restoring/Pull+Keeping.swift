import Repositories
import Storage

extension Pull {
  /// Work that is left when a version is spooled: where it fails for a while, what was fetched stays.
  func keeping<Value>(_ spooled: SpooledVersion, _ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch {
      // One that was made over is of no use to the next run.
      guard spooled.isIdentical else { throw error }
      throw givenUp(spooled.file, after: error)
    }
  }

  /// Leaves what was fetched where a later run may overcome the failure, and else nothing.
  /// - Returns: the error, which says so.
  func givenUp(_ file: RestoredFile, after error: any Error) -> any Error {
    // What could not be begun, for want of room, has harmed nothing either.
    let isCut = OperationError(error).kind == .cancelled
    let isKept = (file.isUntouched || Self.mayPass(error)) && (keepsWhenInterrupted || !isCut)
    guard isKept, let kept = file.keep(atLeast: file.isUntouched ? 0 : keepsFrom) else {
      file.discard()
      return error
    }
    let place = "kept in \(file.temporaryPath) (\(kept >> 20) of \(file.length >> 20) MiB)"
    var told = OperationError(error)
    guard !isCut else {
      // Of a run that a signal ended nobody is told the hint.
      world.reporter.notice("what was fetched is \(place), and the same command goes on from there")
      return error
    }
    let hint =
      "What was fetched is \(place), and the same command goes on from there. That file may also be deleted: then all is fetched again."
    told.hint = [told.hint, hint].compactMap { $0 }.joined(separator: " ")
    return told
  }

  /// It says nothing of the version: the line, the target or its credentials failed, somebody interrupted, opened the
  /// database, took its name, or is at work in the folder. A full disk is no such failure: what is left would keep it full.
  private static let passing = ["folderLocked", "databaseInUse", "destinationExists", "sideFileExists"]

  private static func mayPass(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: ![.notFound, .badRange].contains(error.code)
    // One bad sector and a disk that was pulled out look alike at times, and what was read before is good either way.
    case let error as RepositoryError: (error.cause as? StoreError)?.code == .unreadable
    case let error as OperationError: error.kind == .cancelled || passing.contains(error.code)
    default: OperationError(error).kind == .cancelled
    }
  }
}
