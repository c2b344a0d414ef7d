import Glibc
import Platform
import Repositories
import Sealing
import Storage

/// A file that is being restored: a private temporary beside its destination, which gets its name only when it is
/// complete, verified and durable. Whatever is killed in between leaves no file of that name, and, where it is noted how
/// far it was, a temporary that the next one goes on from.
final class RestoredFile: MemberDestination {
  let path: String
  let temporaryPath: String
  let descriptor: Int32
  let note: FetchNote?
  let writeBack: WriteBack
  /// False on file systems that know no locks.
  let isLocked: Bool
  let isKept = Locked(false)
  private let folder: String
  private let hasName = Locked(false)
  private let hasBegun = Locked(false)
  /// Whose time it gets with its name: nothing is written behind that.
  private let original = Locked<Core.Member?>(nil)

  /// What file systems say that know no locks.
  static let knowsNoLocks = [ENOLCK, EOPNOTSUPP, ENOSYS]

  /// - Parameters:
  ///   - replacing: what is there now is going to be moved away before this file gets its name.
  ///   - kin: the path whose leftovers are removed and under whose name this one would be found; by default its own.
  ///   - note: of the version that is fetched, where a leftover that holds some of it is to be taken over.
  init(for path: String, replacing: Bool = false, kin: String? = nil, noting note: FetchNote? = nil) throws {
    self.path = path
    folder = PathSteps.folder(of: path)
    let name = Self.name(of: path)
    guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else {
      throw OperationError(.usage, "'\(path)' is no file name", hint: "Name the file to write.")
    }
    if !replacing { try Self.refuseIfPresent(path) }
    var place = stat()
    guard stat(folder, &place) == 0 else {
      throw errno == ENOENT ? Self.noFolder(folder) : Self.failure("cannot open \(folder)", errno)
    }
    try Self.demandOwnWay(to: folder)
    let known = kin.map(Self.name) ?? name
    let leftover = try Self.sweep(folder, leftoversOf: known, but: note)
    let temporary = try leftover ?? Self.makeTemporary(in: folder, known)
    temporaryPath = temporary.path
    descriptor = temporary.descriptor
    isLocked = temporary.isLocked
    self.note = note
    note?.begin(at: temporary.complete)
    writeBack = WriteBack(of: descriptor, noting: note)
  }

  /// A path below a folder, `/` too: one byte after the folder's, as notes of a restore drop it.
  static func path(_ name: String, in folder: String) -> String { folder == "/" ? "/\(name)" : "\(folder)/\(name)" }

  static func name(of path: String) -> String { MemberPath.components(path).last ?? "" }

  static let nameAnother = "Name a file that does not exist; nothing is ever replaced unasked."

  /// - Throws: `.usage` when the file or a side file of that name exists.
  static func refuseIfPresent(_ path: String) throws {
    var status = stat()
    if lstat(path, &status) == 0 {
      throw OperationError(
        .usage, code: "destinationExists", "\(path) exists already",
        hint: nameAnother)
    }
    if errno == ENAMETOOLONG {
      throw OperationError(
        .usage, code: "nameTooLong", "\(path): \(String(cString: strerror(errno)))", hint: "Choose a shorter name.")
    }
    for ending in SideFiles.endings where lstat(path + ending, &status) == 0 {
      throw OperationError(
        .usage, code: "sideFileExists", "\(path)\(ending) exists: SQLite would apply it to the restored database",
        hint: "Move it away together with the database that it belongs to, or restore under another name.")
    }
  }

  static func noFolder(_ folder: String) -> OperationError {
    OperationError(
      .usage, code: "noFolder", "there is no folder \(folder)", hint: "Make the folder first, or check the path.")
  }

  /// What other users have put on the way to a folder that is there, in words; `nil` when that is nothing.
  static func refusal(onWayTo folder: String) -> String? {
    PlantedEntry.refusal(on: folder) ?? ForeignLink.refusal(on: folder)
  }

  /// - Throws: `.usage`, code `plantedLink`.
  static func demandOwnWay(to folder: String) throws {
    guard let refusal = refusal(onWayTo: folder) else { return }
    throw OperationError(
      .usage, code: "plantedLink", refusal,
      hint: "It leads where that user wants: name the folder that is meant.")
  }

  /// - Throws: `.failed` for a folder that this user, or everybody, may not write in.
  static func demandWritable(_ folder: String) throws {
    guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
      throw failure("cannot write in \(folder)", errno)
    }
  }

  /// The temporary begins as zeros of the whole length, but for what is complete; a full disk is met here, not in the
  /// middle.
  func setLength(_ length: Int) throws {
    try demandSpace(for: length)
    hasBegun.withLock { $0 = true }
    let complete = complete
    // Units beyond may stand there, or parts of them: those are fetched again, and zeros are not written.
    for end in [complete, length] {
      guard ftruncate(descriptor, off_t(end)) == 0 else { throw Self.failure("cannot write \(temporaryPath)", errno) }
    }
    // That took the note away, and what it said is still so.
    if note?.write(complete, to: descriptor) == true { try synchronize() }
  }

  /// What the temporary takes already is not needed again.
  private func demandSpace(for length: Int) throws {
    var space = statvfs()
    guard fstatvfs(descriptor, &space) == 0 else { return }
    let free = space.freeBytes
    let needed = max(0, length - Self.bytesOnDisk(descriptor))
    guard free >= needed else {
      throw OperationError(
        .failed, code: "noSpace", "\(folder) has \(free) bytes free, the version needs \(needed)",
        hint: "Make room there, or restore to another file system.")
    }
  }

  /// What was taken over is as it was found.
  var isUntouched: Bool { hasBegun.withLock { !$0 } }

  var complete: Int { note?.complete ?? 0 }

  func noteComplete(below offset: Int) { note?.reach(offset) }

  func reserve(_ range: Range<Int>) throws {
    let problem = WholeTransfer.reserve(range, of: descriptor)
    guard problem == 0 else { throw Self.failure("cannot write \(temporaryPath)", problem) }
  }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
    let problem = WholeTransfer.write(bytes, to: descriptor, at: offset)
    guard problem == 0 else { throw Self.failure("cannot write \(temporaryPath)", problem) }
    writeBack.wrote(bytes.count)
  }

  /// Fills the buffer from an offset on.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let problem = WholeTransfer.read(into: buffer, from: descriptor, at: offset)
    guard problem == 0 else { throw Self.failure("cannot read \(temporaryPath)", problem) }
  }

  /// Permission bits for what is private until then. The time of modification comes with the name.
  func setMode(of member: Core.Member) throws {
    guard fchmod(descriptor, mode_t(member.mode & 0o777)) == 0 else {
      throw Self.failure("cannot set the mode of \(path)", errno)
    }
    original.withLock { $0 = member }
  }

  /// That is no loss where a file system keeps none.
  private func giveTime() {
    guard let member = original.withLock({ $0 }) else { return }
    var times = MemberTree.times(member)
    futimens(descriptor, &times)
  }

  func synchronize() throws {
    let problem = writeBack.finish()
    guard problem == 0 else { throw Self.failure("cannot make \(temporaryPath) durable", problem) }
  }

  /// Gives the file its name, without replacing anything, and makes the name durable.
  ///
  /// By a hard link, which fails when the name is taken; where a file system has none, by a rename after a last look
  /// (`Docs/Decisions/0003`). From then on the file is not ours any more, and closed.
  func publish() throws {
    try Self.refuseIfPresent(path)
    try endFetching()
    try synchronize()
    giveTime()
    try Self.refuseIfPresent(path)
    if link(temporaryPath, path) == 0 || (errno == EEXIST && isNamed) {
      unlink(temporaryPath)
    } else if errno == EEXIST {
      try Self.refuseIfPresent(path)
      throw Self.failure("cannot name \(path)", EEXIST)
    } else if rename(temporaryPath, path) != 0 {
      throw Self.failure("cannot name \(path)", errno)
    }
    hasName.withLock { $0 = true }
    do { try Self.synchronizeFolder(of: path) } catch { throw unnamed(after: error) }
    writeBack.close()
  }

  /// The file has its name. A server of files whose answer was lost is asked again, and says that the name is taken.
  private var isNamed: Bool {
    defer { errno = EEXIST }
    guard let own = writeBack.identity else { return false }
    return FileIdentity(at: path) == own
  }

  /// What went by the name of the temporary was about this file.
  func demandName() throws {
    var own = stat()
    guard fstat(descriptor, &own) == 0, FileIdentity(at: temporaryPath) == FileIdentity(own) else {
      throw Self.failure("another file has the name \(temporaryPath)", ESTALE)
    }
  }

  /// Takes back a name that may not last: whoever is told that it failed does not look for the file, and what was moved
  /// aside for it gets its place again.
  func unnamed(after error: any Error) -> any Error {
    // Somebody may have put a file of theirs in its place, which is not ours to move.
    guard isNamed, rename(path, temporaryPath) != 0 else {
      hasName.withLock { $0 = false }
      return error
    }
    var told = OperationError(error)
    told.message += "; the file stands there all the same"
    return told
  }

  /// Makes names durable.
  static func synchronizeFolder(of path: String) throws {
    let folder = PathSteps.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open \(folder)", errno) }
    defer { close(descriptor) }
    guard synchronizeNames(in: descriptor) == 0 else { throw failure("cannot make \(path) durable", errno) }
  }

  /// Makes a small file beside a database, or replaces it: whole and durable, or not at all.
  /// - Parameters:
  ///   - kin: the database; what a killed run leaves is removed with its other leftovers.
  ///   - modified: the time that it gets, in place of now.
  static func write(_ bytes: [UInt8], to path: String, of kin: String, modified: timespec? = nil) throws {
    let temporary = try makeTemporary(in: PathSteps.folder(of: path), name(of: kin))
    defer { close(temporary.descriptor) }
    do {
      let problem = bytes.withUnsafeBytes { WholeTransfer.write($0, to: temporary.descriptor) }
      guard problem == 0 else { throw failure("cannot write \(path)", problem) }
      if let modified {
        var times = [modified, modified]
        futimens(temporary.descriptor, &times)
      }
      guard fsync(temporary.descriptor) == 0, rename(temporary.path, path) == 0 else {
        throw failure("cannot write \(path)", errno)
      }
      try synchronizeFolder(of: path)
    } catch {
      unlink(temporary.path)
      throw error
    }
  }

  /// Makes it like a file that is there: its owner, its mode and its attributes.
  /// - Returns: what could not be kept.
  func resemble(_ likeness: FileLikeness) -> [String] { likeness.give(to: descriptor) }

  /// Copies the whole to a descriptor, such as standard output.
  /// - Throws: `CancellationError` also in the middle, and where nobody reads.
  func copy(to output: Int32) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure("cannot read \(temporaryPath)", errno) }
    let length = Int(status.st_size)
    let output = AwaitedOutput(output)
    try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 4096) { buffer in
      for start in stride(from: 0, to: length, by: buffer.count) {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, length - start)])
        try read(into: part, at: start)
        let problem = try output.write(UnsafeRawBufferPointer(part))
        guard problem == 0 else {
          // Nothing of a file or a disk of ours; of one that is full the hint stays.
          var told = OperationError.fileSystem("cannot write to standard output", problem)
          told.code = "outputFailed"
          throw told
        }
      }
    }
  }

  /// Takes the name away again, if this file got it.
  func withdraw() { if hasName.withLock({ $0 }) { unlink(path) } }

  /// Removes the temporary, if it did not get its name and is not kept.
  func discard() { if !isKept.withLock({ $0 }) { unlink(temporaryPath) } }

  static func failure(_ message: String, _ number: Int32) -> OperationError {
    .fileSystem(message, number, hint: hint(number))
  }

  private static func hint(_ number: Int32) -> String? {
    switch number {
    case ENOENT: "Make the folder first, or check the path."
    case EACCES, EPERM, EROFS: "Choose a folder that this user may read and write."
    default: nil
    }
  }
}
