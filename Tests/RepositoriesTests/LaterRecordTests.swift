import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Records, pack tables and attempts of a later program.
@Suite struct LaterRecordTests {
  @Test func `a version whose pack table is of a later format is not incomplete`() async throws {
    let home = try await Home()
    let version = HandmadeVersion(home)
    let image = home.image(pages: 8, seed: 1)
    let pages = stride(from: 0, to: image.count, by: 4096).map { Array(image[$0..<$0 + 4096]) }
    let entry = try await version.pack([version.raw(pages)])
    version.place(pack: 1, frame: 0, count: pages.count)
    let later = PackEntry(
      number: entry.number, name: entry.name, length: entry.length, directoryLength: entry.directoryLength, version: 1,
      aead: 2, kem: 0, epoch: entry.epoch, salt: entry.salt)
    let manifest = try await version.manifest(image: image, table: [later])
    let completeness = try await Completeness(home.repository, chain: home.chain, state: nil)
    let error = await #expect(throws: SealError.self) { try await completeness.look(at: manifest.facts) }
    #expect(error?.code == .unsupported)
  }

  @Test func `no push goes on over a condemned record of a later format`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 8, seed: 1))
    var meta = CondemnedRecord(chain: home.chain, time: 1, packs: [.zero]).encode()
    // The kind of what it names.
    meta[29] = 2
    let sealed = try ObjectBuilder(kind: .condemned, keys: home.repository.keys, random: systemRandom).finish(
      meta: meta)
    let name = Layout.known("\(Layout.condemned(of: home.chain))\(sealed.bytes.count)-\(sealed.name.hex)")
    try await home.store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 8, seed: 2)) }
    #expect(error?.code == .unsupported && error?.hint?.contains("newer sealift") == true)
    #expect(error?.hint?.contains("by hand") == false)
  }

  @Test func `the place of an attempt of a later program is not taken`() async throws {
    let home = try await Home()
    let first = try await home.push(home.image(pages: 8, seed: 1))
    var meta = first.manifest.body.encode()
    meta[1] = 9
    let sealed = try ObjectBuilder(kind: .manifest, keys: home.repository.keys, random: systemRandom).finish(meta: meta)
    let name = VersionName(
      chain: home.chain, sequence: 2, revision: 0, length: sealed.bytes.count, digest: sealed.name)
    try ManifestAttempt(name, sealed.bytes).write(in: home.state)
    let error = await #expect(throws: SealError.self) { try await home.push(home.image(pages: 8, seed: 2)) }
    #expect(error?.code == .unsupported)
    #expect(try ManifestAttempt(of: home.chain, in: home.state) != nil)
  }

  @Test func `nor is that of one that a later program noted in its own words`() async throws {
    let home = try await Home()
    let first = try await home.push(home.image(pages: 8, seed: 1))
    let name = first.manifest.name
    let sealed = try #require(home.store.content[name.objectName])
    try ManifestAttempt(name, sealed).write(in: home.state)
    let path = "\(try home.state.path)/\(home.chain.hex)/attempt"
    var noted = try fileBytes(path)
    noted.replaceSubrange(0..<4, with: Array("held".utf8))
    try writeFile(path, noted)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 8, seed: 2)) }
    #expect(error?.code == .unsupported && error?.hint?.contains("newer sealift") == true)
    #expect(try fileBytes(path) == noted)
    // What is cut says nothing.
    try writeFile(path, Array(noted.dropLast()))
    _ = try await home.push(home.image(pages: 8, seed: 2))
  }
}
