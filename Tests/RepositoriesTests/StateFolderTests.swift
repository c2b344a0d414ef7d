import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a machine keeps and remembers: bounded, never needed, and a keyring never goes back.
@Suite struct StateFolderTests {
  private func age(_ path: String, by days: Int) { age(path, bySeconds: days * 86_400) }

  private func age(_ path: String, bySeconds seconds: Int) {
    var times = [timespec](repeating: timespec(tv_sec: time(nil) - seconds, tv_nsec: 0), count: 2)
    #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
  }

  private func names(_ objects: KeptObjects) -> [String] { StateFiles.names(in: objects.path).sorted() }

  @Test func `what nobody used for a month goes, what is used stays`() throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    for name in ["old", "used", "new", "half.1-2.new", "writing.3-4.new"] { objects.write([1, 2, 3], as: name) }
    for name in ["old", "used"] { age("\(objects.path)/\(name)", by: 31) }
    age("\(objects.path)/half.1-2.new", by: 1)
    #expect(objects.read("used") == [1, 2, 3])
    objects.tidy()
    #expect(names(objects) == ["new", "used", "writing.3-4.new"])
    age("\(objects.path)/new", by: 31)
    objects.tidy()
    #expect(names(objects) == ["new", "used", "writing.3-4.new"])
    age("\(objects.path)/.tidied", by: 2)
    objects.tidy()
    #expect(names(objects) == ["used", "writing.3-4.new"])
  }

  /// On a file system that takes every time, and every length.
  @Test(.enabled(if: access("/dev/shm", W_OK) == 0))
  func `times and lengths that cannot be end nobody`() throws {
    let scratch = try Scratch(in: "/dev/shm")
    let objects = KeptObjects(path: scratch.file("objects"))
    objects.write([1], as: "new")
    for (name, seconds) in [("past", Int.min), ("coming", .max), ("half.1-2.new", .min)] {
      objects.write([1], as: name)
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, "\(objects.path)/\(name)", times, 0) == 0)
    }
    objects.tidy()
    #expect(names(objects) == ["coming", "new"])
    for name in ["long", "longer"] {
      objects.write([1], as: name)
      try #require(truncate("\(objects.path)/\(name)", .max - 4095) == 0)
    }
    age("\(objects.path)/.tidied", by: 2)
    objects.tidy()
    // As much goes as a sum can tell; the next look takes the rest.
    #expect(names(objects).filter { $0.hasPrefix("long") }.count == 1)
  }

  @Test func `a file that is too long is refused as such, whatever went wrong before`() throws {
    let scratch = try Scratch()
    let path = scratch.file("long")
    try StateFiles.write([1, 2, 3], to: path)
    let error = #expect(throws: RepositoryError.self) {
      errno = EACCES
      return try StateFiles.read(path, limit: 2)
    }
    #expect(error?.message.contains(String(cString: strerror(EFBIG))) == true)
  }

  /// To open one waits for whoever writes to it: who plants it never does.
  @Test func `a pipe in the place of a file is no file, and holds nobody up`() throws {
    let scratch = try Scratch()
    let path = scratch.file("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    #expect(StateFiles.reading(path) { _, length in length } == nil)
    let error = #expect(throws: RepositoryError.self) { try StateFiles.read(path) }
    #expect(error?.code == .stateFolder && error?.message.contains("it is no file") == true)
  }

  @Test(arguments: [(-1, false), (80_000, false), (-80_000, false), (90_000, true), (-90_000, true)])
  func `a look of the last day, or by a clock that is ahead, is not repeated`(seconds: Int, looks: Bool) throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    objects.write([1], as: "one")
    #expect(objects.tidy())
    age("\(objects.path)/.tidied", bySeconds: seconds)
    #expect(objects.tidy() == looks)
  }

  @Test(arguments: ["object", "list.units"])
  func `what was used by a clock that was far ahead goes in the end`(name: String) throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    objects.write([1], as: name)
    let file = "\(objects.path)/\(name)"
    age(file, by: -400)
    objects.tidy()
    #expect(names(objects) == [name])
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(status.st_mtim.tv_sec < time(nil) + 3600)
  }

  @Test func `what a killed process left half written goes from every folder`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 3, seed: 1))
    let state = try home.state
    let left = ["\(state.path)/keyring.json", "\(state.path)/\(home.chain.hex)/versions"].map { "\($0).7-8.new" }
    for path in left {
      try StateFiles.write([1], to: path)
      age(path, by: 1)
    }
    age("\(state.objects.path)/.tidied", by: 2)
    state.tidy()
    #expect(left.allSatisfy { access($0, F_OK) != 0 })
    #expect(try HighWaterMark.read(home.chain, in: state)?.sequence == 1)
  }

  @Test func `what is kept of a repository that is used no more goes by the same rules`() async throws {
    let home = try await Home()
    let state = try home.state
    let id = try #require(RepositoryID(hex: String(repeating: "5", count: 32)))
    let old = try StateFolder(home.stateFolder, repository: id)
    for name in ["old", "new"] { old.keep([1], as: name) }
    #expect(HighWaterMark(sequence: 1, id: .zero).raise(home.chain, in: old))
    let (mark, left) = ("\(old.path)/\(home.chain.hex)/mark.json", "\(old.path)/\(home.chain.hex)/versions.7-8.new")
    try StateFiles.write([1], to: left)
    // What is not ours stays, however it looks.
    let foreign = KeptObjects(path: "\(home.stateFolder)/foreign/objects")
    foreign.write([1], as: "old")
    for path in ["\(old.objects.path)/old", mark, left, "\(foreign.path)/old"] { age(path, by: 31) }
    StateFiles.remove("\(state.objects.path)/.tidied")
    state.tidy()
    #expect(names(old.objects) == ["new"] && names(foreign) == ["old"])
    #expect(access(mark, F_OK) == 0 && access(left, F_OK) != 0)
  }

  @Test func `beyond the limit what was used last stays`() throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    for day in 1...9 {
      objects.write([UInt8](repeating: 1, count: 1000), as: "\(day)")
      age("\(objects.path)/\(day)", by: day)
    }
    objects.tidy(KeptObjects.Limits(bytes: 4500, bytesInUse: 4500))
    #expect(names(objects) == ["1", "2", "3", "4"])
  }

  /// A push each week needs the directories of all packs each time.
  @Test func `what is in use has more room, and the rest what that leaves of its own`() throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    for day in [1, 2, 7, 9, 10, 11, 12] {
      objects.write([UInt8](repeating: 1, count: 1000), as: "\(day)")
      age("\(objects.path)/\(day)", by: day)
    }
    objects.tidy(KeptObjects.Limits(bytes: 5500, bytesInUse: 9000, interval: 0))
    #expect(names(objects) == ["1", "10", "2", "7", "9"])
    objects.tidy(KeptObjects.Limits(bytes: 2500, bytesInUse: 9000, interval: 0))
    #expect(names(objects) == ["1", "2", "7"])
    objects.tidy(KeptObjects.Limits(bytes: 2500, bytesInUse: 2500, interval: 0))
    #expect(names(objects) == ["1", "2"])
  }

  @Test func `lists of units, which cannot be fetched again, stay a year and make no room`() throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    for (name, days) in [
      ("young.units", 31), ("young.passing-units", 31), ("old.units", 366), ("other", 2),
    ] {
      objects.write([UInt8](repeating: 1, count: 1000), as: name)
      age("\(objects.path)/\(name)", by: days)
    }
    objects.tidy(KeptObjects.Limits(bytes: 1000, bytesInUse: 1000))
    #expect(names(objects) == ["other", "young.passing-units", "young.units"])
  }

  @Test func `objects that vanish while others use them cost requests only`() async throws {
    let home = try await Home()
    let objects = try home.state.objects
    let image = home.image(pages: 40, seed: 3)
    for seed in 0..<6 {
      async let gone: Void = {
        for name in StateFiles.names(in: objects.path) { objects.remove(name) }
      }()
      let result = try await home.push(image + home.image(pages: 5, seed: UInt64(seed)))
      await gone
      #expect(try await home.read(result.manifest).count == 45 * 4096)
    }
  }

  @Test func `what a list has noted is kept once`() async throws {
    let home = try await Home()
    var last: StoredManifest?
    for seed in 0..<5 { last = try await home.push(home.image(pages: 3, seed: UInt64(seed))).manifest }
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let manifests = Set(listing.versions.map(\.digest.hex))
    #expect(try names(home.state.objects).filter { manifests.contains($0) }.count == 5)
    _ = try await home.repository.history(of: listing, state: home.state)
    #expect(try names(home.state.objects).filter { manifests.contains($0) } == [last?.name.digest.hex])
  }

  @Test func `reading does without a state folder that cannot be made`() async throws {
    let home = try await Home()
    let manifest = try await home.push(home.image(pages: 3, seed: 1)).manifest
    let scratch = try Scratch()
    try StateFiles.write([1], to: scratch.file("file"))
    let state = StateFolder(reading: scratch.file("file"), repository: home.repository.id)
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let history = try await home.repository.history(of: listing, state: state)
    #expect(history.versions == [manifest.facts])
    try await home.repository.checkFreshness(of: listing, history: history, state: state)
    try home.repository.checkKeyring(in: state)
    state.tidy()
    #expect(!HighWaterMark(sequence: 1, id: manifest.id).raise(home.chain, in: state))
    #expect(throws: RepositoryError.self) {
      try StateFolder(scratch.file("file"), repository: home.repository.id)
    }
  }

  /// With a wrong digit it would be told as another version than the one that stands there.
  @Test func `a mark is what was written, or spoilt`() async throws {
    let home = try await Home()
    let pushed = try await home.push(home.image(pages: 3, seed: 1)).manifest
    let mark = HighWaterMark(pushed: pushed.facts)
    let bytes = try mark.json(of: home.chain)
    #expect(HighWaterMark(json: bytes, of: home.chain) == mark)
    #expect(mark.pushed == 1 && mark.owner != nil && mark.manifest != nil && mark.time != nil)
    for place in bytes.indices {
      for change: UInt8 in [1, 2, 8, 0x20, 0x80] {
        var spoilt = bytes
        spoilt[place] ^= change
        let found = HighWaterMark(json: spoilt, of: home.chain)
        #expect(found == nil || found == mark, "byte \(place)")
      }
    }
    let other = try #require(ChainID(hex: String(repeating: "5", count: 32)))
    #expect(HighWaterMark(json: bytes, of: other) == nil)
    // Of an earlier build.
    let old = #"{"sequence":1,"id":"\#(pushed.id.hex)"}"#
    #expect(HighWaterMark(json: Array(old.utf8), of: other) == HighWaterMark(sequence: 1, id: pushed.id))
  }

  @Test func `a file in the place of a folder is not taken for an empty one where that protects`() async throws {
    let home = try await Home()
    let state = try home.state
    let folder = try state.folder(of: home.chain)
    try StateFiles.write([1], to: "\(folder)/given-up")
    #expect(throws: RepositoryError.self) { try OpenTombstones(of: home.chain, in: state) }
    try removeFile(folder)
    #expect(try OpenTombstones(of: home.chain, in: state).names.isEmpty)
    #expect(try HighWaterMark.read(home.chain, in: state) == nil)
    try StateFiles.write([1], to: folder)
    #expect(throws: RepositoryError.self) { try OpenTombstones(of: home.chain, in: state) }
    #expect(throws: RepositoryError.self) { try HighWaterMark.read(home.chain, in: state) }
  }

  @Test func `a push that holds the chain is no reason to warn a reader`() async throws {
    let home = try await Home()
    let state = try home.state
    let lock = try ChainLock(home.chain, in: state)
    #expect(HighWaterMark(sequence: 1, id: .zero).raise(home.chain, in: state))
    #expect(try HighWaterMark.read(home.chain, in: state) == nil)
    withExtendedLifetime(lock) {}
  }
}
