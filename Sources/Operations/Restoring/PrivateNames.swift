import Glibc
import Platform
import Snapshots

/// Whose the names in a folder are. What a restore makes is private, and what it has open stays what it was; but SQLite goes
/// by names, and whoever may write in a folder decides what they lead to.
enum PrivateNames {
  /// Nobody else may make or exchange names in a folder, nor on the way to it.
  static func are(in folder: String) -> Bool {
    guard let real = realPath(folder) else { return false }
    var way = ["/"]
    for name in MemberPath.components(real) { way.append((way.count == 1 ? "" : way[way.count - 1]) + "/" + name) }
    return way.dropLast().allSatisfy { isOurs($0, orSticky: true) } && way.suffix(1).allSatisfy { isOurs($0) }
  }

  /// - Parameter orSticky: also one where others make names, and take none of ours away, as `/tmp`.
  private static func isOurs(_ folder: String, orSticky: Bool = false) -> Bool {
    var status = stat()
    guard stat(folder, &status) == 0, [0, geteuid()].contains(status.st_uid) else { return false }
    return status.st_mode & 0o022 == 0 || (orSticky && status.st_mode & 0o1000 != 0)
  }
}

extension Pull {
  /// Makes a fetched version over, see `MakeOver.apply`. Where names are not ours alone, SQLite is given those of a private
  /// place, and what it has made there is copied to where it is to come to lie.
  /// - Parameter isSpooled: it lies in such a place already.
  func madeOver(
    _ file: RestoredFile, _ path: String, replacing: Bool, isSpooled: Bool
  ) async throws -> (file: RestoredFile, check: String?) {
    guard !isSpooled, makeOver.needsSpool(for: path) else {
      return try await makeOver.apply(to: file, path, replacing: replacing, check: check)
    }
    let spool = try privateSpool()
    defer { spool.remove() }
    let made = try await madeOver(file, in: spool)
    let placed = try RestoredFile(for: path, replacing: replacing)
    do {
      try placed.take(made.file)
      try placed.synchronize()
      file.discard()
      return (placed, made.check)
    } catch {
      placed.discard()
      throw error
    }
  }

  /// A copy, made over.
  private func madeOver(_ file: RestoredFile, in spool: Spool) async throws -> (file: RestoredFile, check: String?) {
    do {
      let copy = try RestoredFile(for: "\(spool.path)/image")
      try copy.take(file)
      return try await makeOver.apply(to: copy, copy.path, replacing: false, check: check)
    } catch {
      var told = OperationError(error)
      guard told.code == "noSpace" else { throw error }
      told.hint =
        "Others may write beside the destination: it is repacked in the state folder. Make room there, name another "
        + "(SEALIFT_STATE), or restore without --vacuum."
      throw told
    }
  }
}
