import Glibc
import Storage

/// A temporary that outlives its run, so that the next one goes on from it.
extension RestoredFile {
  /// Of the content, in bytes, where it is known from the beginning.
  var length: Int { note?.length ?? 0 }

  /// What was complete is of no worth: all of it is fetched again.
  func forget() { note?.begin(at: 0) }

  /// The content is complete: from now on nothing else is in the file.
  func endFetching() throws {
    guard let note else { return }
    note.end()
    guard ftruncate(descriptor, off_t(note.length)) == 0 else {
      throw Self.failure("cannot write \(temporaryPath)", errno)
    }
  }

  /// Notes that all of it is there: what is still to be done before it gets its name may be cut as well.
  func noteWhole() {
    guard let note, isLocked else { return }
    note.begin(at: note.length)
    note.reach(note.length)
    _ = writeBack.mark()
  }

  /// Leaves what is complete to a later run. Only where that could have the lock: nobody would ever remove it else.
  /// - Parameter least: what is less is not worth a file that lies about.
  /// - Returns: how many bytes that is; `nil` where nothing is to stay.
  func keep(atLeast least: Int) -> Int? {
    guard let note, isLocked, note.complete >= max(1, least), fchmod(descriptor, 0o600) == 0 else { return nil }
    note.begin(at: note.complete)
    // Room was taken for all of it: what is not there yet gives it back.
    guard isUntouched || ftruncate(descriptor, off_t(note.complete)) == 0 else { return nil }
    guard writeBack.mark() else { return nil }
    note.end()
    // As the next run will see it: some file systems take a mode and show another one.
    guard note.found(in: descriptor, at: temporaryPath) == note.complete else { return nil }
    isKept.withLock { $0 = true }
    flock(descriptor, LOCK_UN)
    return note.complete
  }
}
