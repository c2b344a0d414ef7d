import Glibc
import Storage

/// Whose restored companions are: what takes the place of something has its owner and group, what is new has those of the
/// database that it comes with; where that is lost, those of what stands above it. Without that an application could not
/// read what root has restored for it.
final class MemberOwners: Sendable {
  struct Owner: Sendable, Equatable {
    let user: uid_t
    let group: gid_t

    init(_ status: stat) {
      user = status.st_uid
      group = status.st_gid
    }
  }

  /// What could not be kept, of how many.
  struct Losses: Sendable {
    var users = 0
    var groups = 0
    /// Whom they belong to instead: on a server that takes root for nobody, not to whoever restores.
    var shown: uid_t = 0
    /// Whose they were is not known in this container.
    var unknown = 0
  }

  private let places: [CompanionsPlace.Place]
  /// `nil` where there is none: what says nothing else of its owner belongs to whoever restores.
  private let database: Owner?
  /// Of `FILE.companions`, as long as the old one is in its place.
  private let apart: Owner?
  private let namespace: UserNamespace
  private let lost = Locked(Losses())

  /// - Parameters:
  ///   - places: where members are about to be put, and the old ones stand.
  ///   - database: the path of the one that is replaced, or restored into.
  ///   - namespace: of users; who is not known there is given nothing.
  init(of places: [CompanionsPlace.Place], database: String, namespace: UserNamespace = .own) {
    var status = stat()
    let known = stat(database, &status) == 0 ? Owner(status) : nil
    self.places = places
    self.namespace = namespace
    self.database = known
    apart = places.first { $0.member == nil }.flatMap { Self.owner([], of: $0.path) } ?? known
  }

  /// - Returns: `nil` where nothing that stands there says it.
  func owner(of member: String) -> Owner? {
    let place = places.first { place in place.member.map { MemberPath.isSameOrAbove($0, member) } ?? true }
    guard let place else { return database }
    let components = MemberPath.components(of: member, below: place.member ?? "")
    return Self.owner(components, of: place.path) ?? database ?? Self.owner([], of: place.path)
  }

  /// The links of a place are its owner's, as in a push; below it none is followed.
  private static func owner(_ components: [String], of place: String) -> Owner? {
    var status = stat()
    guard let name = components.last else { return stat(place, &status) == 0 ? Owner(status) : nil }
    return FolderHandle(path: place)?.folder(components.dropLast())?.status(name).map(Owner.init)
  }

  /// Gives an open file or folder of ours its owner.
  /// - Parameter member: its path; `nil` is `FILE.companions`.
  /// - Returns: the permission bits that it may have: none for a group that nobody has chosen.
  func give(_ member: String?, _ descriptor: Int32) -> mode_t {
    var own = stat()
    guard fstat(descriptor, &own) == 0 else { return 0o700 }
    let known = if let member { self.owner(of: member) } else { apart }
    guard let owner = known else { return 0o777 }
    var allowed: mode_t = 0o777
    let isKnownGroup = !namespace.isUnknown(group: owner.group)
    if !isKnownGroup || own.st_gid != owner.group && fchown(descriptor, uid_t.max, owner.group) != 0 {
      allowed = 0o707
      lost.withLock { $0.groups += 1 }
    }
    // What we have made shows that number only where it is our own.
    guard own.st_uid != owner.user else { return allowed }
    if namespace.isUnknown(user: owner.user) {
      lost.withLock { ($0.unknown, $0.shown) = ($0.unknown + 1, own.st_uid) }
    } else if fchown(descriptor, owner.user, gid_t.max) != 0 {
      lost.withLock { ($0.users, $0.shown) = ($0.users + 1, own.st_uid) }
    }
    return allowed
  }

  /// What cannot be given stays ours.
  func giveOwnerOfDatabase(_ descriptor: Int32) {
    guard let database, isKnown(database) else { return }
    if fchown(descriptor, uid_t.max, database.group) == 0 { fchown(descriptor, database.user, gid_t.max) }
  }

  /// Gives a link its owner, as far as that can be: nobody asks whose a link is.
  func giveLink(_ member: String, _ name: String, in folder: FolderHandle) {
    guard let owner = self.owner(of: member), isKnown(owner) else { return }
    fchownat(folder.descriptor, name, owner.user, owner.group, AT_SYMLINK_NOFOLLOW)
  }

  private func isKnown(_ owner: Owner) -> Bool {
    !namespace.isUnknown(user: owner.user) && !namespace.isUnknown(group: owner.group)
  }

  /// Said of what could not be kept.
  var remarks: [String] {
    let lost = lost.withLock { $0 }
    return [
      lost.groups == 0 ? nil : "the group of \(lost.groups) companions could not be kept: group access was taken away",
      lost.users == 0
        ? nil
        : "\(lost.users) companions belong to user \(lost.shown) now, and did not: \(FileLikeness.wayToKeepOwner)",
      lost.unknown == 0
        ? nil
        : "\(lost.unknown) companions belong to user \(lost.shown) now: whose they were is not known in this container",
    ].compactMap { $0 }
  }
}
