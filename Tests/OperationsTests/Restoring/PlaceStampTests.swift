import Glibc
import TestKit
import Testing

@testable import Operations

/// What stands in a place is told from all else that could stand there.
@Suite struct PlaceStampTests {
  /// `att` with the file `a` and the folder `deep`, in which there is `b`; and a file `keys`. Their times are long ago, as
  /// those of what was restored.
  private struct Home {
    let scratch: Scratch
    let folder: FolderHandle

    init(in place: String? = nil) throws {
      scratch = if let place { try Scratch(in: place) } else { try Scratch() }
      folder = try #require(FolderHandle(path: scratch.path))
      for name in ["att", "att/deep"] { mkdir(scratch.file(name), 0o755) }
      for name in ["att/a", "att/deep/b", "keys"] { try write(name) }
    }

    func write(_ name: String) throws {
      try writeFile(scratch.file(name), [1, 2])
      var times = [timespec(tv_sec: 1_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000, tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, scratch.file(name), &times, 0) == 0)
    }

    func stamp(_ name: String, leaving: [String] = []) throws -> PlaceStamp {
      try #require(PlaceStamp(of: name, in: folder, leaving: leaving))
    }
  }

  enum Change: String, CaseIterable, Sendable {
    case added, written, deeper, renamed, removed
  }

  @Test(arguments: Change.allCases) func `whoever changes anything in a folder changes its stamp`(change: Change) throws
  {
    let home = try Home()
    let before = try home.stamp("att")
    let att = home.scratch.file("att")
    switch change {
    case .added: try writeFile("\(att)/c", [])
    case .written: try writeFile("\(att)/a", [7, 7])
    case .deeper: try writeFile("\(att)/deep/b", [7, 7])
    case .renamed: try #require(rename("\(att)/a", "\(att)/c") == 0)
    case .removed: try removeFile("\(att)/deep/b")
    }
    #expect(try home.stamp("att") != before)
  }

  @Test func `a file that was written is another one`() throws {
    let home = try Home()
    let before = try home.stamp("keys")
    try writeFile(home.scratch.file("keys"), [7, 7])
    #expect(try home.stamp("keys") != before)
  }

  @Test(arguments: ["att", "keys"]) func `what has got its place and its mode is the same`(name: String) throws {
    let home = try Home()
    let before = try home.stamp(name)
    try #require(chmod(home.scratch.file(name), 0o700) == 0)
    try #require(rename(home.scratch.file(name), home.scratch.file("placed")) == 0)
    #expect(try home.stamp("placed") == before)
  }

  /// ext4 gives the number of what is gone to what is made next.
  @Test func `what was made anew under the same number is another one`() throws {
    let home = try Home(in: "/tmp")
    let (before, identity) = (try home.stamp("keys"), FileIdentity(at: home.scratch.file("keys")))
    guard PlaceStamp.birth(of: "keys", in: home.folder) != "-" else { return }
    let time = try #require(home.folder.status("keys")).st_mtim
    // No two times of one tick of the kernel's clock can be told apart.
    usleep(20_000)
    for _ in 0..<1000 {
      try removeFile(home.scratch.file("keys"))
      try home.write("keys")
      guard FileIdentity(at: home.scratch.file("keys")) == identity else { continue }
      // Its time says nothing: whoever unpacks an archive gives it.
      try #require(utimensat(AT_FDCWD, home.scratch.file("keys"), [time, time], 0) == 0)
      #expect(try home.stamp("keys") != before)
      return
    }
  }

  @Test func `what has a place of its own does not count`() throws {
    let home = try Home()
    let before = try home.stamp("att", leaving: ["deep"])
    #expect(try home.stamp("att") != before)
    try #require(rename(home.scratch.file("att/deep"), home.scratch.file("deep")) == 0)
    #expect(try home.stamp("att") == before)
  }

  @Test func `nothing is said of what cannot be looked at, or is not there`() throws {
    let home = try Home()
    #expect(PlaceStamp(of: "none", in: home.folder) == nil)
    var name = Array(home.scratch.file("att/deep/").utf8CString.dropLast())
    name += [CChar(truncatingIfNeeded: 0xff), 0]
    try #require(mkdir(name, 0o755) == 0)
    #expect(PlaceStamp(of: "att", in: home.folder) == nil)
  }
}
