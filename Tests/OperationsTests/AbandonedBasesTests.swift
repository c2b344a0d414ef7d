import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations

/// Images of databases that nobody pushes any more.
@Suite struct AbandonedBasesTests {
  @Test(arguments: [(89, false), (91, false), (91, true)])
  func `they make room when no push has used them for three months`(days: Int, isRoomy: Bool) async throws {
    let road = try await Road()
    let old = DatabaseSource(name: "old", path: try road.database(rows: 400))
    #expect(try await road.push(old).failures.isEmpty)
    let hall = "\(road.world.stateFolder)/bases"
    let folder = try #require(road.files(in: hall).first)
    #expect(road.files(in: "\(hall)/\(folder)").contains("anchor.db"))
    let then = time_t(time(nil) - days * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(hall)/\(folder)/lock", &times, 0) == 0)
    // What is not ours stays, however it looks.
    let foreign = "\(hall)/foreign"
    mkdir(foreign, 0o700)
    for name in ["lock", "anchor.db"] { try writeFile("\(foreign)/\(name)", [1]) }
    #expect(utimensat(AT_FDCWD, "\(foreign)/lock", &times, 0) == 0)
    // Under another name: what the old one left is of no use to it.
    var world = road.world
    world.baseLimit = isRoomy ? 1 << 30 : 1_200_000
    let new = DatabaseSource(name: "new", path: old.path)
    #expect(try await Push(world).run(Push.Request(database: new, targets: [road.target])).failures.isEmpty)
    let isLeft = road.files(in: "\(hall)/\(folder)").contains("anchor.db")
    #expect(isLeft == (days < 90 || isRoomy))
    let others = road.files(in: hall).filter { $0 != folder && $0 != "foreign" }
    let isKept = others.contains { road.files(in: "\(hall)/\($0)").contains("anchor.db") }
    #expect(isKept == (days > 90 || isRoomy))
    #expect(road.files(in: foreign) == ["anchor.db", "lock"])
  }
}
