import Storage
import TestKit
import Testing

@testable import Snapshots

/// Memory does not grow with the database, whatever its header asks for.
@Suite struct CacheTests {
  @Test func `a database does not say how much of it is held`() throws {
    let desk = try Desk()
    try TestDatabase(desk.source).run("PRAGMA default_cache_size=500000; CREATE TABLE t(x)")
    #expect(try TestDatabase(desk.source).number("PRAGMA cache_size") == 500_000)
    let watch = Watch(StopSignal(), busyTimeout: .seconds(1))
    let source = try Source.open(desk.source, desk.request(.vacuum), watch)
    #expect(try source.connection.integer("PRAGMA cache_size") == -2000)
    #expect(try openImage(desk.source, watch).integer("PRAGMA cache_size") == -2000)
    #expect(try openImage(desk.source, watch, knowingChecks: true).integer("PRAGMA cache_size") == -2000)
    #expect(try Connection(openingLive: desk.source, watch).integer("PRAGMA cache_size") == -2000)
  }
}
