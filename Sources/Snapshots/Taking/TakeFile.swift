import Platform

/// What file to take as it is.
package struct FileRequest: Sendable {
  /// Path, as given; symbolic links are followed once.
  package var source: String
  /// An existing folder that only we can read, see `Spool`.
  package var spoolFolder: String
  /// How often to begin anew when the file changes while it is read.
  package var attempts = 5

  package init(source: String, spoolFolder: String) {
    self.source = source
    self.spoolFolder = spoolFolder
  }
}

/// Copies a file that its application made for us, or writes as a whole: an encrypted export, a property list.
///
/// There are no locks to hold it still by. So it is read once, and device, inode, size and times of what was opened and of
/// what has the name are compared before and after; after a change it is read again. Where it was written so lately that
/// the clock's grain could hide a change, it is read a second time and compared.
///
/// What SQLite reads is refused: a database that is open may be in the middle of a change, and to open and close it here
/// would drop the locks that this process may hold on it.
/// - Parameter progress: called for each piece that was read; "pages" are bytes. Throwing ends the copy.
/// - Throws: `.missing`, `.isDirectory`, `.empty`, `.notADatabase` for what is no regular file, `.otherFormat`
///   for a -wal, a journal or a folder, `.plainDatabase`, `.sideFiles`, `.changedMeanwhile`, `.unreadable`, `.noSpace`,
///   `.spool`, `.cancelled`; what `progress` throws.
package func takeFile(
  _ request: FileRequest, progress: @escaping @Sendable (SnapshotProgress) throws -> Void = { _ in }
) async throws -> Snapshot {
  try await onOwnThread { stop in
    try FileRun(request, Watch(stop, busyTimeout: .seconds(1)), progress).take()
  }
}

private struct FileRun {
  private static let pieceSize = 1 << 20
  private let request: FileRequest
  private let watch: Watch
  private let progress: (SnapshotProgress) throws -> Void
  private let copy: String

  init(_ request: FileRequest, _ watch: Watch, _ progress: @escaping (SnapshotProgress) throws -> Void) {
    self.request = request
    self.watch = watch
    self.progress = progress
    copy = "\(request.spoolFolder)/\(randomName()).file"
  }

  func take() throws -> Snapshot {
    for attempt in 1...max(1, request.attempts) {
      try watch.check()
      do {
        if let snapshot = try takeOnce() { return snapshot }
      } catch {
        unlink(copy)
        throw error
      }
      unlink(copy)
      if attempt < request.attempts { usleep(50_000 * UInt32(attempt)) }
    }
    throw SnapshotError(
      .changedMeanwhile,
      "\(request.source) changes all the time: \(request.attempts) copies in a row were of two moments",
      hint: "Let its application write a file that stays as it is, and push that one.")
  }

  /// - Returns: nil when the file changed meanwhile.
  private func takeOnce() throws -> Snapshot? {
    let identity = try identify(request.source)
    let form = try identity.demandFile(named: request.source)
    try demandNothingBeside(identity.path)
    let before = try SourceSignature.read(identity.path)
    let takenAt = millisecondsSince1970()
    let source = open(identity.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    guard source >= 0 else {
      if errno == ENOENT { return nil }
      throw unreadable(request.source, errno)
    }
    defer { close(source) }
    let size = Int(before.database.size)
    guard try state(of: source) == before.database else { return nil }
    guard try copyAll(source, size) else { return nil }
    if !before.isSettled {
      guard try isSame(source, size) else { return nil }
    }
    let after = try? SourceSignature.read(identity.path)
    guard try state(of: source) == before.database, after == before else { return nil }
    var snapshot = Snapshot(
      path: copy, pageSize: 1, pageCount: size, method: .pages, check: .ok, takenAt: takenAt, source: before)
    snapshot.form = form
    // The name may have led to another file when it was looked at first.
    if form != .file {
      guard let store = AtomicStore(beginningOf: try leadingBytes()) else { return nil }
      snapshot.form = .atomicStore(store)
    }
    return snapshot
  }

  private func state(of file: Int32) throws -> SourceSignature.Part {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw unreadable(request.source, errno) }
    return SourceSignature.Part(status)
  }

  /// What a live encrypted database has beside it, and a file that was exported has not.
  private func demandNothingBeside(_ path: String) throws(SnapshotError) {
    guard let other = sideFiles(of: path).first(where: { (fileSize($0) ?? 0) > 0 }) else { return }
    throw SnapshotError(
      .sideFiles, "\(path) seems to be in use: \(other) belongs to it, and holds what it lacks",
      hint: "Let its application export a copy (SQLCipher: sqlcipher_export, GRDB: backup(to:)), and push that file.")
  }

  // MARK: Reading

  /// - Returns: false when it is not as long as it was said to be.
  private func copyAll(_ source: Int32, _ size: Int) throws -> Bool {
    try demandSpace(size, in: request.spoolFolder)
    let target = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw imageError(copy, errno) }
    defer { close(target) }
    var done = 0
    try eachPiece(of: source) { piece in
      try writeBytes(piece, to: target, copy, at: done)
      done += piece.count
      try progress(
        SnapshotProgress(stage: .copying, pagesDone: done, pagesTotal: size, bytesDone: done, growing: nil))
      return done <= size
    }
    return done == size
  }

  /// Whether it reads the same once more.
  private func isSame(_ source: Int32, _ size: Int) throws -> Bool {
    let target = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard target >= 0 else { throw imageError(copy, errno) }
    defer { close(target) }
    var done = 0
    var isSame = true
    let mirror = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { mirror.deallocate() }
    try eachPiece(of: source) { piece in
      let part = UnsafeMutableRawBufferPointer(rebasing: mirror[..<piece.count])
      let got = try fill(part, from: target, at: done)
      guard let copied = part.baseAddress, let read = piece.baseAddress else { return true }
      isSame = got == piece.count && memcmp(copied, read, got) == 0
      done += piece.count
      return isSame
    }
    return isSame && done == size
  }

  /// Hands out the file piece by piece, from its beginning, until `body` says no.
  private func eachPiece(of source: Int32, _ body: (UnsafeRawBufferPointer) throws -> Bool) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { buffer.deallocate() }
    var offset = 0
    while true {
      try watch.check()
      let got = try fill(buffer, from: source, at: offset)
      guard got > 0 else { return }
      guard try body(UnsafeRawBufferPointer(rebasing: buffer[..<got])) else { return }
      offset += got
    }
  }

  /// - Returns: how many bytes there were, fewer only at the end of the file.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int) throws -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let got = pread(file, rest.baseAddress, rest.count, off_t(offset + done))
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw unreadable(request.source, errno) }
      if got == 0 { break }
      done += got
    }
    return done
  }

  private func leadingBytes() throws -> [UInt8] {
    let file = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw imageError(copy, errno) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let got = try bytes.withUnsafeMutableBytes { try fill($0, from: file, at: 0) }
    return Array(bytes.prefix(got))
  }
}

extension Identity {
  /// What a file that is to be taken as it is turns out to be.
  fileprivate func demandFile(named path: String) throws(SnapshotError) -> SnapshotForm {
    switch kind {
    case .atomicStore(let store): return .atomicStore(store)
    case .foreign(.wal), .foreign(.journal), .foreign(.laterSQLite), .foreignFolder:
      _ = try demandDatabase(named: path)
    case .notADatabase, .probablyEncrypted, .foreign: break
    case .database:
      throw SnapshotError(
        .plainDatabase, "\(path) is an SQLite database, which may change while it is read as a plain file",
        hint: "Leave the method out: vacuum and pages copy it consistently, also while it is in use.")
    case .special:
      throw SnapshotError(.notADatabase, "\(path) is no regular file", hint: "Name a file.")
    case .missing, .directory, .empty: _ = try demandDatabase(named: path)
    }
    return .file
  }
}
