import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// A configuration that a target has lost comes back from a machine that has seen it, and takes no newer one's place.
@Suite struct ConfigurationMemoryTests {
  private func configurations(_ home: Home) -> [ObjectName: [UInt8]] {
    home.store.content.filter { $0.key.text.hasPrefix(Layout.configurations) }
  }

  private func open(_ home: Home, isReading: Bool = false) async throws -> Repository {
    try await Repository.open(
      at: home.store, with: Home.secret, state: home.stateFolder, lackingConfiguration: isReading)
  }

  /// As a later program may store one.
  private func storeNewer(_ home: Home) async throws {
    let sealed = try ObjectBuilder(kind: .configuration, keys: home.repository.keys, random: systemRandom)
      .finish(meta: RepositoryConfiguration(createdAt: 2).encode())
    try await RepositoryFiles.putTwice(sealed.bytes, below: Layout.configurations, after: 2, at: home.store)
  }

  @Test(arguments: [true, false]) func `what was accepted is written back as it was where no copy can be read`(
    isDamaged: Bool
  ) async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 100, seed: 1))
    let whole = configurations(home)
    #expect(whole.count == 2)
    let state = try home.state
    try await open(home).rememberConfiguration(in: state)
    for name in whole.keys {
      if isDamaged { home.store.content[name]?[20] ^= 1 } else { home.store.content[name] = nil }
    }
    let lost = home.store.content
    let refused = await #expect(throws: RepositoryError.self) { try await open(home) }
    #expect(refused?.code == .damaged && refused?.hint?.hasPrefix("`sealift repair` on this machine") == true)

    let opened = try await open(home, isReading: true)
    #expect(opened.lacksConfiguration && opened.remembersConfiguration)
    let report = try await RepositoryCheck(opened, state: state, tables: state.path, subset: nil).run()
    #expect(!report.damaged.isEmpty && report.unmendable.isEmpty)
    #expect(report.findings.allSatisfy { $0.hint?.contains("`sealift repair` on this machine") == true })
    let planned = try await opened.bringBackConfiguration(to: home.store, dryRun: true)
    #expect(Set(planned) == Set(whole.keys) && home.store.content == lost)
    #expect(try await opened.bringBackConfiguration(to: home.store, dryRun: false) == planned)
    #expect(configurations(home) == whole)
    let again = try await open(home)
    #expect(!again.lacksConfiguration && !again.remembersConfiguration)
    #expect(try await again.bringBackConfiguration(to: home.store, dryRun: false).isEmpty)
  }

  @Test func `an older one is not written where names tell of a newer one`() async throws {
    let home = try await Home()
    try await open(home).rememberConfiguration(in: home.state)
    try await storeNewer(home)
    for name in configurations(home).keys { home.store.content[name]?[20] ^= 1 }
    let lost = home.store.content
    let opened = try await open(home, isReading: true)
    #expect(opened.lacksConfiguration && !opened.remembersConfiguration)
    #expect(try await opened.bringBackConfiguration(to: home.store, dryRun: false).isEmpty)
    #expect(home.store.content == lost)
    let refused = await #expect(throws: RepositoryError.self) { try await open(home) }
    #expect(refused?.hint?.hasPrefix("Where another machine") == true)
  }

  @Test func `the newest that was seen stays remembered, and what is spoilt is made anew`() async throws {
    let home = try await Home()
    let state = try home.state
    try await open(home).rememberConfiguration(in: state)
    #expect(ConfigurationMemory(in: state)?.number == 2)
    try await storeNewer(home)
    try await open(home).rememberConfiguration(in: state)
    #expect(ConfigurationMemory(in: state)?.number == 4)
    let all = configurations(home)
    let newer = all.filter { NumberedName($0.key, prefix: Layout.configurations).map { $0.number > 2 } == true }
    #expect(newer.count == 2)
    for name in newer.keys { home.store.content[name] = nil }
    try await open(home).rememberConfiguration(in: state)
    #expect(ConfigurationMemory(in: state)?.number == 4)

    for name in all.keys { home.store.content[name] = nil }
    let opened = try await open(home, isReading: true)
    #expect(try await Set(opened.bringBackConfiguration(to: home.store, dryRun: false)) == Set(newer.keys))
    for bytes in [[], Array("{".utf8), Array(#"{"number": 900, "sealed": "AAAA"}"#.utf8)] {
      try StateFiles.write(bytes, to: ConfigurationMemory.path(state))
      for name in newer.keys { home.store.content[name] = nil }
      #expect(try await !open(home, isReading: true).remembersConfiguration)
      for (name, bytes) in newer { home.store.content[name] = bytes }
      try await open(home).rememberConfiguration(in: state)
      #expect(ConfigurationMemory(in: state)?.number == 4)
    }
  }

  @Test func `what cannot be read back counts as not written`() async throws {
    let home = try await Home()
    try await open(home).rememberConfiguration(in: home.state)
    for name in configurations(home).keys { home.store.content[name] = nil }
    let opened = try await open(home, isReading: true)
    let store = HookedStore(
      home.store, afterPut: { name async throws(StoreError) in home.store.content[name] = [1] })
    let error = await #expect(throws: RepositoryError.self) {
      try await opened.bringBackConfiguration(to: store, dryRun: false)
    }
    #expect(error?.code == .damaged && error?.hint?.contains("`sealift doctor`") == true)
  }
}
