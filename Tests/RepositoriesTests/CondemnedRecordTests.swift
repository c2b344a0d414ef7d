import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Condemned records are never deleted, and every push looks at all of them, twice: what is kept of them costs no
/// request and is not written again.
@Suite struct CondemnedRecordTests {
  /// What shows that a file was written.
  private struct Trace: Equatable {
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int
  }

  /// Of everything that is kept.
  private func traces(_ state: StateFolder) -> [String: Trace] {
    var traces: [String: Trace] = [:]
    for name in StateFiles.names(in: state.objects.path) {
      var status = stat()
      guard lstat("\(state.objects.path)/\(name)", &status) == 0 else { continue }
      traces[name] = Trace(
        inode: UInt64(status.st_ino), seconds: Int(status.st_mtim.tv_sec), nanoseconds: Int(status.st_mtim.tv_nsec))
    }
    return traces
  }

  private func records(_ home: PruneHome) -> [String] {
    home.names.filter { $0.hasPrefix("gone/") }.compactMap { $0.split(separator: "-").last.map(String.init) }
  }

  private func pruned() async throws -> PruneHome {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    try await home.prune()
    try await home.push()
    return home
  }

  @Test func `a record that is kept is not written again by any push`() async throws {
    let home = try await pruned()
    let state = try home.home.state
    let records = records(home)
    let before = traces(state)
    #expect(records.count == 1 && records.allSatisfy { before[$0] != nil })
    for _ in 0..<2 { try await home.push() }
    let after = traces(state)
    for record in records { #expect(after[record] == before[record]) }
  }

  @Test func `a look with everything at hand fetches and writes nothing`() async throws {
    let home = try await pruned()
    let state = try home.home.state
    let fetched = Locked<[String]>([])
    let store = StagedStore(home.home.store) {
      $0.beforeGet = { name async throws(StoreError) in fetched.withLock { $0.append(name.text) } }
    }
    let before = traces(state)
    let presence = try await Presence(home.repository(at: store), chain: home.home.chain, state: state)
    #expect(fetched.withLock { $0 } == [])
    #expect(traces(state) == before)
    for record in try await home.home.repository.condemnedRecords(of: home.home.chain, state: nil) {
      #expect(record.record.packs.count == 4)
      #expect(record.record.packs.allSatisfy { presence.condemns($0) })
    }
    #expect(home.home.packs().allSatisfy { !presence.condemns($0) })
  }

  /// As where nothing can be kept: between the two listings of one look all is lost.
  @Test func `a look of a prune reads each record once, and one that came meanwhile counts`() async throws {
    let home = try await pruned()
    let state = try home.home.state
    let place = Layout.condemned(of: home.home.chain)
    let listings = Locked(0)
    let fetched = Locked<[String]>([])
    let store = StagedStore(home.home.store) {
      $0.beforeGet = { name async throws(StoreError) in fetched.withLock { $0.append(name.text) } }
      $0.listed = { prefix, listed async throws(StoreError) in
        guard prefix == place else { return listed }
        let number = listings.withLock { count in
          count += 1
          return count
        }
        if number == 2 { try? await home.home.condemn(home.home.packs()) }
        for record in records(home) { state.drop(record) }
        return try await home.home.store.list(prefix: prefix)
      }
    }
    let repository = home.repository(at: store)
    let tables = PackTables(repository, state: state)
    let policy = PrunePolicy(twoRuns: false, now: { PruneHome.now })
    let look = ChainLook(repository, home.home.chain, state, tables, policy)
    let view = try await look.view()
    let read = fetched.withLock { names in names.filter { $0.hasPrefix(place) } }
    #expect(listings.withLock { $0 } == 2 && read.count == 2 && Set(read).count == 2)
    #expect(view.condemned.count == 1 && !view.live.newestIsSafe)
    let packs = home.home.packs()
    #expect(packs.allSatisfy { name in view.condemned.allSatisfy { !$0.names.contains(name) } })
  }

  @Test func `a record that was spoilt on this machine is fetched again`() async throws {
    let home = try await pruned()
    let state = try home.home.state
    let record = try #require(records(home).first)
    let kept = try #require(state.kept(record))
    let junk: [[UInt8]] = [[], [1, 2, 3], Array(kept.dropLast()), [UInt8](repeating: 7, count: 5000)]
    for bytes in junk {
      state.keep(bytes, as: record)
      let presence = try await Presence(home.home.repository, chain: home.home.chain, state: state)
      let named = try await home.home.repository.condemnedRecords(of: home.home.chain, state: nil)
      #expect(named.flatMap(\.record.packs).allSatisfy { presence.condemns($0) })
      #expect(state.kept(record) == kept)
    }
  }

  /// A manifest may be stored again that no listing shows, but not one that a record names.
  @Test func `what is not there is condemned all the same`() async throws {
    let home = try await PruneHome(versions: 1)
    let absent = Digest.sha256(of: [1])
    try await home.home.condemn([absent])
    let presence = try await Presence(home.home.repository, chain: home.home.chain, state: nil)
    #expect(presence.condemns(absent) && !presence.condemns(.sha256(of: [2])))
  }

  @Test(arguments: [0, 1, 2, 3, 1000]) func `a set of names holds just these`(count: Int) {
    let names = (0..<count).map { Digest.sha256(of: Array("\($0)".utf8)) }
    let halves = [NameSet(Array(names.prefix(count / 2))), NameSet(Array(names.dropFirst(count / 2)))]
    for set in [NameSet(names), NameSet(names + names), NameSet(joining: halves), NameSet(joining: halves + halves)] {
      #expect(names.allSatisfy { set.contains($0) })
      for other in 0..<100 { #expect(!set.contains(.sha256(of: Array("other \(other)".utf8)))) }
      #expect(!set.contains(.zero))
    }
  }

  @Test func `names that differ in one byte are two`() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    let set = NameSet([.zero])
    for place in 0..<32 {
      var bytes = zero
      bytes[place] = 1
      let name = try #require(Digest(bytes))
      #expect(!set.contains(name))
      #expect(NameSet([.zero, name]).contains(name) && NameSet([name, .zero]).contains(.zero))
    }
  }
}
