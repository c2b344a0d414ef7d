import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// A companion while it is read as a member. It may be written to meanwhile: that shows in its times.
final class CapturedFile: CompanionFile {
  let length: Int
  let mode: UInt32
  let modified: UInt64
  private let held: HeldFiles.Held
  private let opened: FileStatus
  private let path: String
  private let hooks: CompanionHooks
  private let events: CaptureEvents
  private let neighbour: SideFileNeighbour?
  private let hasEndedEarly = Locked(false)

  /// - Parameter neighbour: what has to be so beside it as long as it is read.
  /// - Throws: `UnreadableCompanion`; `OperationError` for one that has grown longer than a version can hold.
  init(
    _ held: HeldFiles.Held, path: String, _ hooks: CompanionHooks, _ events: CaptureEvents,
    beside neighbour: SideFileNeighbour? = nil
  ) throws {
    var status = try Self.status(held, path, events)
    // Written within the grain of its times, it could be written again without a trace.
    if status.age(at: FileStatus.now()) < FileStatus.grain {
      usleep(UInt32(FileStatus.grain / 1000))
      status = try Self.status(held, path, events)
    }
    try CompanionCapture.demandFitting(status.size, path)
    self.held = held
    self.path = path
    self.hooks = hooks
    self.events = events
    self.neighbour = neighbour
    opened = status
    length = status.size
    mode = status.mode
    modified = status.modifiedMilliseconds
    hooks.opened(path)
  }

  private static func status(
    _ held: HeldFiles.Held, _ path: String, _ events: CaptureEvents
  ) throws -> FileStatus {
    guard let status = status(held) else {
      events.note(.unreadable, path)
      throw UnreadableCompanion()
    }
    return status
  }

  private static func status(_ held: HeldFiles.Held) -> FileStatus? {
    var status = stat()
    return fstat(held.descriptor, &status) == 0 ? FileStatus(status) : nil
  }

  func read(_ range: Range<Int>) throws -> [UInt8] {
    hooks.reading(path)
    var problem = hooks.failing(path)
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count, problem == 0 {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count..<range.count])
        let got = pread(held.descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + count))
        if got < 0, errno == EINTR { continue }
        if got < 0 { problem = errno }
        if got == 0 {
          buffer[count..<range.count].initialize(repeating: 0)
          count = range.count
          hasEndedEarly.withLock { $0 = true }
        }
        count += max(0, got)
      }
    }
    guard problem == 0 else {
      events.note(.unreadable, path)
      throw UnreadableCompanion()
    }
    return bytes
  }

  func isSettled() -> Bool {
    // Of a file that somebody else has just deleted on a file server, this can no longer be asked.
    guard let now = Self.status(held) else { return false }
    return !hasEndedEarly.withLock { $0 } && now.size == opened.size && now.modified == opened.modified
      && now.changed == opened.changed && neighbour?.fits(now) ?? true
  }

  func keptUnsettled() { events.note(.unsettled, path) }
}

/// What happens to companions while they are captured, from any task.
final class CaptureEvents: Sendable {
  /// What is listed is listed once; what is read is read anew for each target, for each attempt at its version, and with a
  /// database that changed: a disk that failed once may answer then.
  private struct Entries {
    var listed: [Remarks.Capture.Entry] = []
    /// By the keys of paths: of each file what the last reading said.
    var ofFile: [[UInt8]: [Remarks.Capture.Entry]] = [:]
    var readBefore: [Remarks.Capture.Entry] = []
    var takenBack: [Remarks.Capture.Entry] = []

    var read: [Remarks.Capture.Entry] { Array(ofFile.values.joined()) }
  }

  private let entries = Locked(Entries())
  /// Companions that are asked for and are folders with nothing in them, and when something was in them last, in milliseconds
  /// since 1970.
  let empty = Locked<[(path: String, modified: UInt64)]>([])
  /// By the keys of companions: paths of the files that were listed in them. Links tell nothing of a disk: what they say
  /// is remembered when no file can be opened any more.
  let files = Locked<[[UInt8]: [String]]>([:])
  /// `nil` where all that should come along does.
  let outgrown = Locked<CompanionCapture.Outgrown?>(nil)
  /// Folders of ours that are left out.
  let own = Locked<[CompanionListing.Own]>([])

  /// A file is about to be read, perhaps once more: what was said of it then is not what is in the version.
  func beginReading(_ path: String) {
    entries.withLock { entries in
      guard !entries.ofFile.isEmpty, let said = entries.ofFile.removeValue(forKey: MemberPath.key(path)) else { return }
      entries.takenBack += said
    }
  }

  /// Of a file while it is read.
  func note(_ event: Remarks.Capture.Event, _ path: String) {
    entries.withLock { $0.ofFile[MemberPath.key(path), default: []].append(.init(event, path)) }
  }
  func noteListed(_ events: [Remarks.Capture.Entry]) { entries.withLock { $0.listed += events } }

  /// From here on all is read for another target.
  func beginTarget() {
    entries.withLock { entries in
      entries.readBefore += entries.read
      entries.ofFile = [:]
    }
  }

  /// For the target that is read for.
  var all: [Remarks.Capture.Entry] { entries.withLock { $0.listed + $0.read } }
  var ofEveryTarget: [Remarks.Capture.Entry] { entries.withLock { $0.listed + $0.readBefore + $0.read } }
  /// Keys of what could not be read when its turn came, or not even be listed.
  var unread: Set<[UInt8]> { Self.unread(all) }
  var unreadForAnyTarget: Set<[UInt8]> { Self.unread(ofEveryTarget) }
  /// What could not be read at first, and is in the version of every target.
  var readLate: [Remarks.Capture.Entry] {
    let lost = unreadForAnyTarget
    return entries.withLock { $0.takenBack }.filter { entry in
      entry.event == .unreadable && !lost.contains(MemberPath.key(entry.path))
    }
  }

  private static func unread(_ entries: [Remarks.Capture.Entry]) -> Set<[UInt8]> {
    Set(entries.filter { $0.event == .unreadable || $0.event == .vanished }.map { MemberPath.key($0.path) })
  }
}

/// Called at moments of a capture, with paths inside the version; for tests that let others interfere.
package struct CompanionHooks: Sendable {
  /// A folder was looked at and is about to be opened.
  package var opening: @Sendable (String) -> Void = { _ in }
  /// A file was opened to be sealed, and is about to be read; some part of it is about to be read.
  package var opened: @Sendable (String) -> Void = { _ in }
  package var reading: @Sendable (String) -> Void = { _ in }
  /// What reading a file fails with, as of a disk that is dying; 0: it does not.
  package var failing: @Sendable (String) -> Int32 = { _ in 0 }
  /// All is listed, and held, before the snapshot.
  package var listed: @Sendable () -> Void = {}
  /// The clock of files' times.
  package var now: @Sendable () -> Int64 = { FileStatus.now() }
  /// Whether a path is on a disk of this machine, so that its times are by the same clock as the snapshot's.
  package var isOfThisMachine: @Sendable (String) -> Bool = { FileSystemKind.of(path: $0).isOfThisMachine }
  /// So many files are held open, at most.
  package var mostHeld: Int?
  /// So much is said of all of them in a manifest, which is one object of at most 64 MiB.
  package var mostBytes = 56 << 20

  package init() {}
}
