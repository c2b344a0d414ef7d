import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations

/// Images of databases that nobody pushes any more.
@Suite struct AbandonedBasesTests {
  @Test(arguments: [89, 91]) func `they go when no push has used them for three months`(days: Int) async throws {
    let road = try await Road()
    let old = DatabaseSource(name: "old", path: try road.database(rows: 400))
    #expect(try await road.push(old).failures.isEmpty)
    let hall = "\(road.world.stateFolder)/bases"
    let folder = try #require(road.files(in: hall).first)
    #expect(road.files(in: "\(hall)/\(folder)").contains("anchor.db"))
    let then = time_t(time(nil) - days * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(hall)/\(folder)/lock", &times, 0) == 0)
    // Under another name: what the old one left is of no use to it.
    #expect(try await road.push(DatabaseSource(name: "new", path: old.path)).failures.isEmpty)
    #expect(road.files(in: hall).contains(folder) == (days < 90))
    #expect(road.files(in: hall).count == (days < 90 ? 2 : 1))
  }
}
