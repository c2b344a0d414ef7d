import Backends
import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A repository, the state folder and bases may lie in what comes with a database. They do not come along, and nothing moves
/// them aside.
@Suite struct OwnFoldersTests {
  private struct Home {
    let road: Road
    let path: String
    /// A folder in the companion.
    let disk: TargetAccess
    let source: DatabaseSource

    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      mkdir(road.scratch.file("att"), 0o755)
      try writeFile(road.scratch.file("att/a"), [1])
      disk = TargetAccess(
        name: "disk", store: try FolderStore(path: road.scratch.file("att/backup"), create: true),
        unlock: road.target.unlock)
      _ = try await Initialize(road.world).run(at: disk, ifMissing: false)
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      self.source = source
    }

    func world(_ folders: OwnFolder...) -> World {
      var world = road.world
      world.configuredFolders = folders
      return world
    }

    /// As the configuration knows it.
    var backup: OwnFolder { .repository(of: "disk", at: road.scratch.file("att/backup")) }

    func push(_ world: World? = nil, _ target: TargetAccess? = nil) async throws -> Push.Outcome {
      try await Push(world ?? road.world).run(Push.Request(database: source, targets: [target ?? disk]))
    }

    /// Of the newest version.
    func members(_ target: TargetAccess? = nil) async throws -> [String] {
      try await ListVersions(road.world).show(.latest(database: "app"), at: target ?? disk).members.map(\.path)
    }

    /// A version that has the repository in it, as builds before have captured it; then the database changes.
    func pushAll() async throws {
      #expect(try await push(nil, road.target).failures.isEmpty)
      #expect(try await members(road.target).contains { $0.hasPrefix("att/backup/") })
      try await road.change(path)
    }

    func restore(_ world: World, _ mode: Restore.Mode, at place: Restore.Place? = nil) async throws -> Restore.Outcome {
      try await Restore(Pull(world)).run(
        .latest(database: "app"), from: road.target, Restore.Request(place: place ?? .home(path), mode: mode))
    }
  }

  @Test func `a repository in a companion is not in the version, and the next push finds nothing new`() async throws {
    let home = try await Home()
    let first = try await home.push()
    #expect(first.failures.isEmpty && first.shortfalls.isEmpty && first.pushed.first?.unchanged == false)
    #expect(try await home.members() == ["app.db", "att", "att/a"])
    let told = "'app': att/backup is the repository of disk, and not in the version"
    #expect(home.road.notices.said.withLock { $0 }.contains(told))
    #expect(try await home.push().pushed.first?.unchanged == true)
  }

  @Test(arguments: ["state", "link", "bases"])
  func `folders of ours that the run does not ask are not in the version either`(kind: String) async throws {
    let home = try await Home()
    let (folder, link) = (home.road.scratch.file("att/ours"), home.road.scratch.file("link"))
    mkdir(folder, 0o700)
    try writeFile("\(folder)/x", [1])
    symlink(folder, link)
    var world = home.world(home.backup)
    switch kind {
    case "state": world.stateFolder = folder
    case "link": world.configuredFolders.append(.repository(of: "nas", at: link))
    default: world.configuredFolders.append(.bases(of: "other", at: folder))
    }
    #expect(try await home.push(world, home.road.target).failures.isEmpty)
    #expect(try await home.members(home.road.target) == ["app.db", "att", "att/a"])
  }

  @Test func `what earlier versions have of a folder of ours is not missed`() async throws {
    let home = try await Home()
    try removeFile(home.road.scratch.file("att/a"))
    setTime(home.road.scratch.file("att"), 1_600_000_000_000)
    try await home.pushAll()
    let next = try await home.push(home.world(home.backup), home.road.target)
    #expect(next.failures.isEmpty && next.shortfalls.isEmpty, "\(next.shortfalls)")
    #expect(try await home.members(home.road.target) == ["app.db", "att"])
  }

  @Test(arguments: ["att/backup", "link"])
  func `a companion that is a folder of ours is refused`(companion: String) async throws {
    let home = try await Home()
    symlink("att/backup", home.road.scratch.file("link"))
    var source = home.source
    source.companions = [Companion(companion)]
    let request = Push.Request(database: source, targets: [home.disk])
    let push = Push(home.road.world)
    let error = await #expect(throws: OperationError.self) { try await push.run(request) }
    #expect(error?.kind == .usage && error?.code == "badCompanions")
    #expect(error?.message.contains("has '\(companion)', which is the repository of disk") == true)
  }

  @Test(arguments: [Restore.Mode.new, .replace, .live])
  func `a restore that would move a repository aside is refused before anything changes`(
    mode: Restore.Mode
  ) async throws {
    let home = try await Home()
    try await home.pushAll()
    let world = home.world(home.backup)
    let (before, content) = (try FolderPicture(home.road.scratch.file("att")), try fileBytes(home.path))
    let error = await #expect(throws: OperationError.self) { try await home.restore(world, mode) }
    #expect(error?.kind == .usage && error?.code == "ownFolderInTheWay")
    #expect(error?.message.contains("has the repository of disk in it (\(home.backup.path))") == true)
    // A new file takes nobody's place.
    let consequence = mode == .new ? "it is in the way" : "it would be moved aside or written over"
    #expect(error?.message.hasSuffix(": \(consequence)") == true, "\(error?.message ?? "")")
    let request = Restore.Request(place: .home(home.path), mode: mode)
    let preview = try await Restore(Pull(world)).preview(.latest(database: "app"), from: home.road.target, request)
    #expect(preview.refusal?.code == "ownFolderInTheWay")
    for isRehearsal in [true, false] {
      var all = RestoreAll(Pull(world))
      all.dryRun = isRehearsal
      let outcome = try await all.run(.restore(request, paths: ["app": home.path]), from: home.road.target, host: nil)
      #expect(outcome.done.isEmpty && outcome.failures.map(\.error.code) == ["ownFolderInTheWay"])
    }
    #expect(try FolderPicture(home.road.scratch.file("att")) == before)
    #expect(try fileBytes(home.path) == content)
  }

  /// Both versions of the scenario that this is for stay at the target.
  @Test func `a version of the repository that lies beside it is refused, and all versions stay`() async throws {
    let home = try await Home()
    _ = try await home.push()
    try await home.road.change(home.path)
    _ = try await home.push()
    let restore = Restore(Pull(home.road.world))
    let request = Restore.Request(place: .home(home.path), mode: .replace)
    let error = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: home.disk, request)
    }
    #expect(error?.code == "ownFolderInTheWay")
    #expect(try await ListVersions(home.road.world).run(at: home.disk).versions.count == 2)
  }

  @Test(arguments: ["state", "link", "through a link"])
  func `nor is what another path leads to moved aside`(kind: String) async throws {
    let home = try await Home()
    try await home.pushAll()
    let scratch = home.road.scratch
    var world = home.road.world
    switch kind {
    case "state":
      mkdir(scratch.file("att/state"), 0o700)
      world.stateFolder = scratch.file("att/state")
    case "link":
      symlink("att/backup", scratch.file("link"))
      world.configuredFolders = [.repository(of: "disk", at: scratch.file("link"))]
    default:
      rename(scratch.file("att"), scratch.file("real"))
      symlink("real", scratch.file("att"))
      world.configuredFolders = [home.backup]
    }
    for mode in [Restore.Mode.replace, .live] {
      let known = world
      let error = await #expect(throws: OperationError.self) { try await home.restore(known, mode) }
      #expect(error?.code == "ownFolderInTheWay", "\(mode)")
    }
  }

  @Test func `the ways on that the hint names are ways on`() async throws {
    let home = try await Home()
    try await home.pushAll()
    let world = home.world(home.backup)
    let (before, file) = (try FolderPicture(home.road.scratch.file("att")), home.road.scratch.file("new.db"))
    _ = try await home.restore(world, .new, at: .file(file))
    #expect(try fileBytes(file + ".companions/att/a") == [1])
    // Beside a file that was named it is another one.
    let other = home.world(home.backup, .repository(of: "nas", at: file + ".companions/att"))
    let error = await #expect(throws: OperationError.self) {
      try await home.restore(other, .replace, at: .file(file))
    }
    #expect(error?.code == "ownFolderInTheWay" && error?.hint?.contains("Name another file") == true)
    var alone = Pull(world)
    alone.leavesCompanions = true
    _ = try await Restore(alone).run(
      .latest(database: "app"), from: home.road.target, Restore.Request(place: .home(home.path), mode: .replace))
    #expect(try FolderPicture(home.road.scratch.file("att")) == before)
  }

  @Test func `what goes along with a replaced database is no folder of ours`() async throws {
    let home = try await Home()
    var source = home.source
    source.companions = []
    _ = try await home.road.push(source)
    let folder = home.path + ".companions"
    mkdir(folder, 0o755)
    let world = home.world(.repository(of: "nas", at: folder))
    let error = await #expect(throws: OperationError.self) { try await home.restore(world, .replace) }
    #expect(error?.code == "ownFolderInTheWay")
    #expect(error?.message.contains("\(folder) is the repository of nas") == true)
  }

  @Test func `bases may go aside`() async throws {
    let home = try await Home()
    mkdir(home.road.scratch.file("att/bases"), 0o700)
    let world = home.world(home.backup, .bases(of: "app", at: home.road.scratch.file("att/bases")))
    _ = try await home.push(world, home.road.target)
    try removeFile(home.road.scratch.file("att/backup"))
    let outcome = try await home.restore(world, .replace)
    #expect(outcome.moved.contains { $0.from == home.road.scratch.file("att") })
  }
}
