import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// Whoever pushes may look at what was read before anything says that the version exists.
@Suite struct DemandTests {
  private struct Unwanted: Error {}

  private func push(_ home: Home, _ change: (inout VersionDraft) -> Void) async throws -> PushSession.Result {
    let state = try home.state
    let image = home.image(pages: 40, seed: 1)
    var session = try await PushSession(home.repository, chain: home.chain, state: state, policy: .init(now: { 1 }))
    let place = session.next
    var draft = VersionDraft(
      chain: home.chain, sequence: place.sequence, previous: place.previous, time: 1, host: "host", database: "app",
      method: .pages, flags: [],
      members: [
        MemberSource(
          content: .image(pageSize: 4096), path: "app.db", mode: 0o600, modified: 1, length: image.count,
          read: { Array(image[$0]) })
      ], tags: [], note: "", compressionLevel: 1)
    change(&draft)
    return try await session.push(draft, skipEqual: false, dryRun: false, onProgress: { _ in })
  }

  @Test func `what is not wanted has no manifest`() async throws {
    let home = try await Home()
    let expected = Digest.sha256(of: home.image(pages: 40, seed: 1))
    await #expect(throws: Unwanted.self) {
      try await push(home) { draft in
        draft.demand = { members in
          #expect(members.map(\.file?.sha256) == [expected])
          throw Unwanted()
        }
      }
    }
    #expect(!home.store.content.keys.contains { $0.text.hasPrefix("versions/") })
  }

  @Test func `remarks ride in the manifest, outside the core`() async throws {
    let one = try await Home()
    let rows = [Remarks.TableRows(table: "t", rows: 7)]
    let origin = Remarks.Origin(repository: one.repository.id, version: .sha256(of: [1]))
    let result = try await push(one) { draft in
      draft.lateRows = { rows }
      draft.origin = origin
    }
    let read = try await one.repository.readManifest(result.manifest.name)
    #expect(read.body.remarks == Remarks(rows: rows, origin: origin))
    #expect(read.core?.encode() == read.body.core && read.id == Digest.sha256(of: read.body.core))
  }
}
