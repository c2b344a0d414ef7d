import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// What a restore would do, found out without changing anything.
package struct RestorePreview: Sendable {
  package var version: VersionSummary
  /// Where the file would be; links are followed where something is replaced.
  package var path: String
  package var mode: Restore.Mode
  /// Permission bits that it would have.
  package var permissions: UInt32 = 0o600
  /// Bytes that are free there; `nil` when there is no such folder.
  package var free: Int?
  package var moves: [Restore.Move] = []
  /// Where a live restore would keep the old content.
  package var undoCopy: String?
  package var use: DatabaseUse?
  /// Paths of the members that are not the database.
  package var companions: [String]
  /// It would be repacked, or say another journal mode of itself.
  package var identical: Bool
  /// Why it would not be done.
  package var refusal: OperationError?

  /// Of a pull into a new file.
  init(_ found: FoundVersion, newFile path: String, _ makeOver: MakeOver) {
    version = found.summary
    self.path = path
    mode = .new
    companions = found.companions
    identical = makeOver.isNothing
    permissions = found.permissions
    note { try makeOver.demandImage(found) }
    note { try found.demandRoom(for: Restore.Request(place: .file(path)), beside: path) }
    lookAtNewFile()
    lookAtSpace()
  }

  init(_ found: FoundVersion, _ request: Restore.Request, _ restore: Restore) async throws {
    let path = try restore.path(of: found, request)
    self.init(found, newFile: path, restore.pull.makeOver)
    mode = request.mode
    refusal = nil
    note { try restore.demandSense(request, found) }
    note { try restore.pull.makeOver.demandImage(found) }
    guard mode != .new else {
      do { try await restore.hinting(path) { try RestoredFile.refuseIfPresent(path) } } catch { note { throw error } }
      note { try ReplaceIntent(database: path).demandSettled() }
      note { try found.demandRoom(for: request, beside: path) }
      lookAtSpace()
      return
    }
    let real = try Restore.realPlace(of: path)
    self.path = real
    permissions = FileLikeness(of: Restore.model(of: real)).map { UInt32($0.mode) } ?? 0o600
    let use = DatabaseUse(of: real)
    self.use = use
    let time = Times.compact(restore.world.now())
    if mode == .replace {
      note { try use.demandNobody(real) }
      moves = SetAside(real, time: time).plan.map { Restore.Move(from: $0.from, to: $0.to) }
    } else {
      identical = false
      note { try LockTrust.demand(real) }
      note { try ReplaceIntent(database: real).demandSettled() }
      if FileIdentity(at: real) == nil {
        note {
          throw OperationError(
            .usage, code: "nothingLive", "there is no database \(path) to restore into",
            hint: "Restore it as a new file: without --live.")
        }
      }
      undoCopy = request.keepsUndo ? SetAside.freeName(real, time) : nil
    }
    for place in found.companionPlaces(of: request, beside: real).map(\.path) where CompanionsPlace.stands(place) {
      guard !moves.contains(where: { $0.from == place }) else { continue }
      moves.append(Restore.Move(from: place, to: CompanionsPlace.aside(place, time)))
    }
    lookAtSpace()
  }

  private mutating func lookAtNewFile() {
    let path = path
    note { try RestoredFile.refuseIfPresent(path) }
    note { try ReplaceIntent(database: path).demandSettled() }
  }

  private mutating func lookAtSpace() {
    let folder = RestoredFile.folder(of: path)
    var space = statvfs()
    guard statvfs(folder, &space) == 0 else {
      note {
        throw OperationError(
          .usage, code: "noFolder", "there is no folder \(folder)", hint: "Make the folder first, or check the path.")
      }
      return
    }
    let (free, size) = (Int(space.f_bavail) * Int(space.f_frsize), version.size)
    self.free = free
    guard free < size else { return }
    note {
      throw OperationError(
        .failed, code: "noSpace", "\(folder) has \(free >> 20) MiB free, the version needs \(size >> 20) MiB",
        hint: "Make room there, or restore to another file system.")
    }
  }

  /// Keeps the first reason against it.
  private mutating func note(_ demand: () throws -> Void) {
    do { try demand() } catch { refusal = refusal ?? OperationError(error) }
  }
}

extension Pull {
  /// What a pull into a new file would do. Nothing is changed, and nothing of the version's content is fetched.
  package func preview(
    _ selector: VersionSelector, from target: TargetAccess, to path: String, expect: String? = nil
  ) async throws -> RestorePreview {
    do {
      let found = try await FoundVersion.find(selector, at: target, world, expect: expect)
      return RestorePreview(found, newFile: path, makeOver)
    } catch {
      throw OperationError(error, doing: "pulling from \(target.name)")
    }
  }
}
