import Glibc

/// Puts restored companions where an application looks for them: into the folder of its database, under their own names;
/// the folder of a Core Data store's external files under the name that belongs to the database's.
struct CompanionsPlace: Sendable {
  /// The path that the database has, or is about to get.
  private let database: String
  private let staged: StagedCompanions

  /// What was done, and how to undo it.
  package struct Placed: Sendable {
    /// Paths that were put there.
    package var made: [String] = []
    /// What stood there before, and where it is now.
    package var movedAside: [(from: String, to: String)] = []
    /// Commands for a shell that put everything back.
    package var undo: [String] = []

    package init() {}
  }

  init(_ staged: StagedCompanions, beside database: String) {
    self.staged = staged
    self.database = database
  }

  /// What would stand where, by member.
  var places: [(member: String, path: String)] {
    let folder = RestoredFile.folder(of: database)
    return staged.tops.map { top in
      (top, "\(folder)/\(top == staged.supportFolder ? SupportFolder.name(of: database) : top)")
    }
  }

  /// What is in the way.
  var existing: [String] {
    places.map(\.path).filter { path in
      var status = stat()
      return lstat(path, &status) == 0
    }
  }

  /// Names everything, or nothing: what was done is undone when something fails.
  /// - Parameters:
  ///   - replacing: moves what exists aside, to `NAME.before-<time>`; otherwise that is refused.
  ///   - time: as it is written into that name.
  /// - Throws: `.usage` for what is in the way.
  func put(replacing: Bool, time: String) throws -> Placed {
    if !replacing, let first = existing.first { try StagedCompanions.demandFree(first) }
    var placed = Placed()
    do {
      for (member, path) in places {
        try makeParents(of: member)
        try moveAside(path, time: time, &placed)
        try staged.move(member, to: path)
        placed.made.append(path)
      }
      try StagedCompanions.synchronize(RestoredFile.folder(of: database))
    } catch {
      takeBack(placed)
      throw error
    }
    placed.undo =
      placed.made.map { "rm -r -- \(Self.quoted($0))" }
      + placed.movedAside.map { "mv -T -- \(Self.quoted($0.to)) \(Self.quoted($0.from))" }
    staged.discard()
    return placed
  }

  /// Puts back what was moved aside, and removes what took its place.
  func takeBack(_ placed: Placed) {
    for path in placed.made.reversed() {
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR { MemberTree.remove(path) } else { unlink(path) }
    }
    for moved in placed.movedAside.reversed() { rename(moved.to, moved.from) }
  }

  private func moveAside(_ path: String, time: String, _ placed: inout Placed) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    let aside = "\(path).before-\(time)"
    try StagedCompanions.demandFree(aside)
    guard rename(path, aside) == 0 else { throw OperationError.fileSystem("cannot move \(path) aside", errno) }
    placed.movedAside.append((path, aside))
  }

  /// Folders between the database's folder and a companion that was named by a longer path. None of them is a link.
  private func makeParents(of member: String) throws {
    guard var folder = FolderHandle(path: RestoredFile.folder(of: database)) else {
      throw OperationError.fileSystem("cannot open the folder of \(database)", errno)
    }
    for component in MemberPath.components(member).dropLast() {
      mkdirat(folder.descriptor, component, 0o755)
      guard let next = folder.folder(component) else {
        throw OperationError.fileSystem("'\(component)' on the way to '\(member)' is no folder", errno)
      }
      folder = next
    }
  }

  static func quoted(_ path: String) -> String {
    "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
