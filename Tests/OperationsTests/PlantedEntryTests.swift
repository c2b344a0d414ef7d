import Backends
import FoundationEssentials
import Glibc
import Operations
import Repositories
import Storage
import TestKit
import Testing

/// Other users in a folder like `/tmp`. Only root can make names for them.
@Suite(.enabled(if: geteuid() == 0)) struct PlantedEntryTests {
  private let scratch: Scratch
  /// Mode 1777, as `/tmp`.
  private let hall: String
  private static let stranger: uid_t = 65534

  init() throws {
    scratch = try Scratch()
    hall = scratch.file("hall")
    #expect(mkdir(hall, 0o700) == 0 && chmod(hall, 0o1777) == 0)
    #expect(mkdir(scratch.file("precious"), 0o700) == 0)
  }

  private func link(_ name: String, by owner: uid_t = stranger) {
    #expect(symlink(scratch.file("precious"), "\(hall)/\(name)") == 0)
    #expect(lchown("\(hall)/\(name)", owner, owner) == 0)
  }

  private func folder(_ name: String, by owner: uid_t = stranger) {
    #expect(mkdir("\(hall)/\(name)", 0o777) == 0)
    #expect(chown("\(hall)/\(name)", owner, owner) == 0)
  }

  private var isUntouched: Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: scratch.file("precious"))) == []
  }

  @Test func `links and folders of other users are seen, our own are not`() {
    link("theirs")
    link("ours", by: 0)
    folder("room")
    folder("own room", by: 0)
    #expect(PlantedEntry.refusal(on: "\(hall)/theirs/state") == "\(hall)/theirs is a link that another user put there")
    #expect(PlantedEntry.refusal(on: "\(hall)/theirs") == "\(hall)/theirs is a link that another user put there")
    #expect(PlantedEntry.refusal(on: "\(hall)/ours/state", foldersToo: true) == nil)
    #expect(PlantedEntry.refusal(on: "\(hall)/room/state") == nil)
    #expect(
      PlantedEntry.refusal(on: "\(hall)/room/state", foldersToo: true)
        == "\(hall)/room is a folder that another user put there")
    #expect(PlantedEntry.refusal(on: "\(hall)/own room", foldersToo: true) == nil)
    // A letter to Swift together with the slash before it.
    link("\u{301}theirs")
    #expect(PlantedEntry.refusal(on: "\(hall)/\u{301}theirs/state")?.hasSuffix("another user put there") == true)
    #expect(PlantedEntry.refusal(on: "\(hall)/not there/state") == "\(hall)/not there was taken away")
  }

  @Test func `where only its owner makes names, what is there is believed`() {
    link("theirs")
    #expect(chmod(hall, 0o755) == 0)
    #expect(PlantedEntry.refusal(on: "\(hall)/theirs/state", foldersToo: true) == nil)
  }

  @Test func `the folder's own user may put things there`() {
    #expect(chown(hall, Self.stranger, Self.stranger) == 0)
    link("theirs")
    #expect(PlantedEntry.refusal(on: "\(hall)/theirs/state", foldersToo: true) == nil)
  }

  @Test func `who is not known in a container need not be the folder's own user, who is not known either`() {
    #expect(chown(hall, Self.stranger, Self.stranger) == 0)
    folder("room")
    let container = UserNamespace(users: "0 0 1", groups: "0 0 1")
    func refusal(_ name: String) -> String? {
      PlantedEntry.refusal(of: "\(hall)/\(name)", in: hall, foldersToo: true, namespace: container)
    }
    #expect(refusal("room")?.hasSuffix("another user put there") == true)
    folder("own room", by: 0)
    #expect(refusal("own room") == nil)
  }

  @Test func `no state, no base and no spool goes through them`() {
    link("state")
    folder("room")
    for path in ["\(hall)/state", "\(hall)/state/deep", "\(hall)/room/state"] {
      let error = #expect(throws: RepositoryError.self) { try StateFiles.makeFolder(path) }
      #expect(error?.code == .stateFolder)
      #expect(error?.message.contains("another user") == true)
    }
    #expect(isUntouched)
  }

  @Test func `no restore and no target goes through them`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 10)
    _ = try await road.push(DatabaseSource(name: "app", path: source))
    link("out")
    let error = await #expect(throws: OperationError.self) {
      try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file("\(hall)/out/app.db"))
    }
    #expect(error?.code == "plantedLink")
    link("target")
    for path in ["\(hall)/target", "\(hall)/target/deep"] {
      let error = #expect(throws: StoreError.self) { try FolderStore(path: path, create: true) }
      #expect(error?.message.contains("another user") == true)
    }
    #expect(isUntouched)
  }
}
