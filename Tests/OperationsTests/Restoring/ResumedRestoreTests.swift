import Glibc
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// A restore that was cut is gone on with by the next one of the same version.
@Suite struct ResumedRestoreTests {
  @Test func `a target that is gone for good, and is back`() async throws {
    let home = try await ResumedRoad()
    let (error, kept) = try await home.cut()
    #expect(error.kind == .failed && error.code == "unavailable")
    #expect(error.hint?.contains(kept) == true && error.hint?.contains("the same command goes on") == true)
    #expect(home.left.count == 1 && mode(of: kept) == 0o600)
    #expect(try await home.goOn() < home.whole * 6 / 10)
    #expect(home.left == ["out.db"])
    #expect(home.road.notices.said.withLock { $0.contains { $0.hasPrefix("going on with what an earlier restore") } })
    let again = try Scratch()
    _ = try await Pull(home.road.world).run(
      .id(prefix: home.version), from: home.road.target, to: .file(again.file("out.db")))
    #expect(try fileBytes(home.path) == fileBytes(again.file("out.db")))
  }

  /// A disk that was pulled out while the repository file could still be read, or one with a bad sector.
  @Test func `what cannot be read at the target takes nothing of what was`() async throws {
    let home = try await ResumedRoad()
    let (error, kept) = try await home.cut(by: .unreadable)
    #expect(error.kind == .verificationFailed && error.code == "damaged")
    #expect(error.hint?.contains(kept) == true && error.hint?.contains("the same command goes on") == true)
    #expect(home.left.count == 1)
    #expect(try await home.goOn() < home.whole * 6 / 10)
    #expect(home.left == ["out.db"])
  }

  /// Room is taken for the whole file before anything is fetched. A file that lies about needs that of what is there.
  @Test func `what is kept takes no more room than what was fetched`() async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    var status = stat()
    try #require(stat(kept, &status) == 0)
    #expect(Int(status.st_blocks) * 512 < home.size * 3 / 4)
    #expect(try await home.goOn() < home.whole * 6 / 10)
  }

  @Test func `cut again and again, it ends`() async throws {
    let home = try await ResumedRoad()
    for _ in 1...3 {
      let line = CutLine(home.road.store, after: home.whole / 4)
      await #expect(throws: OperationError.self) { try await home.run(line) }
      #expect(home.left.count == 1)
    }
    #expect(try await home.goOn() < home.whole / 2)
  }

  @Test func `whoever interrupts it finds it again`() async throws {
    let home = try await ResumedRoad()
    let line = CutLine(home.road.store, after: home.whole / 2, waits: true)
    let running = Task { try await home.run(line) }
    #expect(try await eventually { line.isCut })
    running.cancel()
    let ended = await running.result
    let error = #expect(throws: OperationError.self) { try ended.get() }
    #expect(error?.kind == .cancelled)
    #expect(home.left.count == 1)
    #expect(home.road.notices.said.withLock { $0.contains { $0.hasPrefix("what was fetched is kept in") } })
    #expect(try await home.goOn() < home.whole * 7 / 10)
    #expect(home.left == ["out.db"])
  }

  /// As a process leaves it that was killed: under its own name, with nobody who holds the lock.
  @Test func `what a killed run left is taken over, whatever its number`() async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    try #require(rename(kept, home.machine.file(".out.db.sealift-999999-7")) == 0)
    #expect(try await home.goOn() < home.whole * 6 / 10)
    #expect(home.left == ["out.db"])
  }

  /// Killed in the instant in which it goes on, it loses nothing of what the one before had.
  @Test func `the note is there again before anything is fetched`() async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    let bytes = try #require(Hex.decode(home.version))
    let id = try #require(Digest(bytes))
    let note = FetchNote(of: id, length: home.size)
    func noted() -> Int? {
      let file = open(kept, O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      return note.found(in: file, at: kept)
    }
    let before = try #require(noted())
    let line = CutLine(home.road.store, after: 0, waits: true)
    let running = Task { try await home.run(line) }
    #expect(try await eventually { line.isCut })
    #expect(noted() == before)
    running.cancel()
    _ = await running.result
    #expect(noted() == before)
    #expect(try await home.goOn() < home.whole * 6 / 10)
  }

  @Test func `somebody who is at work on it keeps it`() async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    let other = open(kept, O_RDWR | O_CLOEXEC)
    defer { close(other) }
    try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
    let before = try fileBytes(kept)
    let line = CutLine(home.road.store, after: .max)
    try await home.run(line)
    #expect(line.fetched > home.whole * 9 / 10)
    #expect(try fileBytes(kept) == before)
  }

  @Test(arguments: [100, 1_000_000])
  func `a flipped byte in what was kept is never delivered`(place: Int) async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    try flip(kept, at: place)
    #expect(try await home.goOn() > home.whole)
    #expect(home.left == ["out.db"])
    #expect(home.road.notices.said.withLock { $0.contains { $0.contains("fetching all of it again") } })
  }

  @Test func `a flipped bit in the note, and a file that was cut: from the beginning`() async throws {
    let home = try await ResumedRoad()
    for isCut in [false, true] {
      let (_, kept) = try await home.cut()
      if isCut { #expect(truncate(kept, 4 << 20) == 0) } else { try flip(kept, at: try fileBytes(kept).count - 500) }
      #expect(try await home.goOn() > home.whole * 9 / 10)
      #expect(home.left == ["out.db"])
      try removeFile(home.path)
    }
  }

  @Test func `a person sees where it goes on`() async throws {
    let home = try await ResumedRoad()
    _ = try await home.cut()
    let steps = Steps()
    var pull = home.pull
    pull.world.reporter = steps
    let outcome = try await pull.run(
      .id(prefix: home.version), from: home.road.target, to: .file(home.path))
    let done = steps.done.withLock { $0 }
    let (first, most) = (try #require(done.first), try #require(done.max()))
    #expect(first > home.whole * 3 / 10)
    #expect(most <= outcome.version.size)
  }

  @Test func `another version has nothing of it`() async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    try await home.road.change(home.source)
    let pushed = try await home.road.push(DatabaseSource(name: "app", path: home.source)).pushed
    let newer = try #require(pushed.first?.version.id)
    // As soon as another one is asked for, it is gone.
    let line = CutLine(home.road.store, after: home.whole / 20)
    await #expect(throws: OperationError.self) { try await home.run(line, newer) }
    #expect(access(kept, F_OK) != 0)
    #expect(try await home.goOn(newer) > home.whole * 8 / 10)
    #expect(home.left == ["out.db"])
  }

  @Test(arguments: ["mode", "second name", "link"]) func `what others may have had in hand is not used`(
    how: String
  ) async throws {
    let home = try await ResumedRoad()
    let (_, kept) = try await home.cut()
    let other = home.machine.file("other")
    switch how {
    case "mode": #expect(chmod(kept, 0o644) == 0)
    case "second name": #expect(link(kept, other) == 0)
    default:
      #expect(rename(kept, other) == 0)
      #expect(symlink(other, kept) == 0)
    }
    let before = try? fileBytes(other)
    let line = CutLine(home.road.store, after: .max)
    try await home.run(line)
    #expect(line.fetched > home.whole * 9 / 10)
    #expect(try await dump(home.path) == dump(home.source))
    #expect((try? fileBytes(other)) == before)
  }

  @Test func `content that is wrong leaves nothing, and little is not kept`() async throws {
    let home = try await ResumedRoad()
    let content = home.road.store.content
    let packs = content.keys.filter { $0.text.hasPrefix("packs/") }
    for name in packs { home.road.store.content[name] = nil }
    await #expect(throws: OperationError.self) { try await home.run(CutLine(home.road.store, after: .max)) }
    #expect(home.left.isEmpty)
    home.road.store.content = content
    var pull = home.pull
    pull.keepsFrom = 16 << 20
    let line = CutLine(home.road.store, after: home.whole * 6 / 10)
    let error = await #expect(throws: OperationError.self) {
      try await pull.run(.id(prefix: home.version), from: ResumedRoad.target(home.road, line), to: .file(home.path))
    }
    #expect(error?.hint?.contains("kept in") != true)
    #expect(home.left.isEmpty)
  }

  @Test func `companions that cannot be had leave the database that is whole`() async throws {
    let home = try await ResumedRoad(companion: 1 << 20)
    let line = CutLine(home.road.store, after: home.whole - (1 << 19))
    await #expect(throws: OperationError.self) { try await home.run(line) }
    #expect(home.left.count == 1)
    #expect(try await home.goOn() < home.whole * 3 / 10)
    #expect(home.left == ["out.db", "out.db.companions"])
  }

  @Test func `a database that is replaced stays as it is until its successor is whole`() async throws {
    let home = try await ResumedRoad()
    try writeFile(home.path, Array("what an application has".utf8))
    #expect(chmod(home.path, 0o640) == 0)
    func replace(_ line: CutLine) async throws -> Restore.Outcome {
      try await Restore(home.pull).run(
        .id(prefix: home.version), from: ResumedRoad.target(home.road, line),
        Restore.Request(place: .file(home.path), mode: .replace))
    }
    let cut = CutLine(home.road.store, after: home.whole * 6 / 10)
    await #expect(throws: OperationError.self) { _ = try await replace(cut) }
    #expect(try fileBytes(home.path) == Array("what an application has".utf8))
    #expect(home.left.count == 2)
    let line = CutLine(home.road.store, after: .max)
    let moved = try await replace(line).moved
    #expect(line.fetched < home.whole * 6 / 10)
    #expect(try await dump(home.path) == dump(home.source))
    #expect(mode(of: home.path) == 0o640)
    #expect(home.left.allSatisfy { !$0.hasPrefix(".") })
    let aside = try #require(moved.first).to
    #expect(try fileBytes(aside) == Array("what an application has".utf8))
  }

  @Test func `one that is made over is made of what is gone on with`() async throws {
    let home = try await ResumedRoad()
    _ = try await home.cut()
    var pull = home.pull
    pull.makeOver = MakeOver(journal: .delete)
    let line = CutLine(home.road.store, after: .max)
    let outcome = try await pull.run(
      .id(prefix: home.version), from: ResumedRoad.target(home.road, line), to: .file(home.path))
    #expect(line.fetched < home.whole * 6 / 10 && !outcome.identical)
    #expect(try await dump(home.path) == dump(home.source))
    #expect(home.left.allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `the note says what it was told, to who asks for that version`() throws {
    let scratch = try Scratch()
    let path = scratch.file(".out.db.sealift-1-2")
    for (length, complete) in [(1, 1), (511, 4), (512, 512), (10_000, 4096)] {
      try writeFile(path, [UInt8](repeating: 1, count: length))
      #expect(chmod(path, 0o600) == 0)
      let file = open(path, O_RDWR | O_CLOEXEC)
      defer { close(file) }
      let note = FetchNote(of: .zero, length: length)
      #expect(!note.write(complete, to: file) && note.found(in: file, at: path) == nil)
      note.begin(at: 0)
      // Not more than there is.
      #expect(!note.write(complete, to: file))
      note.reach(complete)
      #expect(note.write(complete, to: file) && note.found(in: file, at: path) == complete)
      #expect(FetchNote(of: .sha256(of: []), length: length).found(in: file, at: path) == nil)
      #expect(FetchNote(of: .zero, length: length + 512).found(in: file, at: path) == nil)
      note.end()
      #expect(!note.write(complete, to: file))
    }
  }
}

private func flip(_ path: String, at place: Int) throws {
  var bytes = try fileBytes(path)
  bytes[place] ^= 0x40
  try writeFile(path, bytes)
  #expect(chmod(path, 0o600) == 0)
}

/// How far it was said to be, again and again.
private final class Steps: Reporter {
  let done = Locked<[Int]>([])
  func progress(_ progress: Progress) { done.withLock { $0.append(progress.bytesDone) } }
  func notice(_ text: String) {}
}
