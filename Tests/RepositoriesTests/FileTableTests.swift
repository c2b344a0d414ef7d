import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Repositories

@Suite struct FileTableTests {
  private struct Pair: BitwiseCopyable {
    var key: UInt32
    var value: UInt16
  }

  @Test func `elements are kept, changed and sorted in place`() throws {
    let scratch = try Scratch()
    let table = try FileTable<Pair>(capacity: 50_000, in: scratch.path)
    for key in 0..<50_000 { table.append(Pair(key: UInt32(50_000 - key), value: UInt16(key & 0xFFFF))) }
    table[7].value = 3
    #expect(table.count == 50_000)
    #expect(table[7].value == 3)
    table.withUnsafeMutableBufferPointer { $0.sort { $0.key < $1.key } }
    #expect(table[0].key == 1)
    #expect(table[49_999 - 7].value == 3)
    table.truncate(to: 10)
    #expect(table.withUnsafeMutableBufferPointer { $0.count } == 10)
  }

  /// A restore has its tables beside its destination.
  @Test func `a full disk is told as that, and where`() {
    for number in [ENOSPC, EDQUOT] {
      let error = NamelessFile.failure("cannot write a scratch file", in: "/srv/app", number)
      #expect(error.code == .noSpace && error.message.contains(" in /srv/app: "))
    }
    #expect(NamelessFile.failure("m", in: "/srv/app", EACCES).code == .stateFolder)
  }

  @Test func `what is there from the start is zeros`() throws {
    let scratch = try Scratch()
    let table = try FileTable<UInt64>(capacity: 3000, count: 3000, in: scratch.path)
    #expect((0..<3000).allSatisfy { table[$0] == 0 })
    #expect(try FileTable<UInt8>(capacity: 0, in: scratch.path).count == 0)
  }

  @Test(arguments: [0, 1, 24, 25, 1000, 30_000]) func `sorting in place sorts`(count: Int) throws {
    let scratch = try Scratch()
    var random = SeededRandom(UInt64(count))
    let noise = (0..<count).map { UInt64($0) | random.next() << 32 }
    let orders = [noise, noise.sorted(), noise.sorted(by: >), noise.sorted { $0 & 0xFF < $1 & 0xFF }]
    for order in orders {
      let table = try FileTable<UInt64>(capacity: count, in: scratch.path)
      for element in order { table.append(element) }
      table.sort { $0 }
      #expect(table.withUnsafeMutableBufferPointer { Array($0) } == noise.sorted())
    }
  }

  /// Runs of versions of which little changed: sorted but for the first, or the last, or a later one that belongs first.
  @Test func `a table that is nearly sorted is sorted in no time`() throws {
    let scratch = try Scratch()
    let count: UInt64 = 10_000
    let sorted: [UInt64] = Array(0..<count)
    var (first, both, last) = (sorted, sorted, sorted)
    first[0] = count
    both[0] = count
    both[sorted.count - 1] = count + 1
    last.removeFirst()
    last.append(0)
    let orders: [[UInt64]] = [first, both, last, sorted, sorted.reversed()]
    for order in orders {
      let table = try FileTable<UInt64>(capacity: order.count, in: scratch.path)
      for element in order { table.append(element) }
      var asked = 0
      table.sort { element in
        asked += 1
        return element
      }
      #expect(table.withUnsafeMutableBufferPointer { Array($0) } == order.sorted())
      // Twice what chance needs; by squares it would be fifty times as many.
      #expect(asked < 1_000_000, "\(asked)")
    }
  }

  @Test func `no file is to be seen, and a folder that is not there is told`() throws {
    let scratch = try Scratch()
    let table = try FileTable<UInt8>(capacity: 10, in: scratch.path)
    table.append(1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    let error = #expect(throws: RepositoryError.self) { try FileTable<UInt8>(capacity: 10, in: scratch.file("none")) }
    #expect(error?.code == .stateFolder)
  }

  @Test func `frames are noted by pack, and those that are not there are blank`() throws {
    let scratch = try Scratch()
    let notes = try FrameNotes<Int>(-1, in: scratch.path)
    let places = [(7, 0), (7, 2), (3, 0), (3, 4999), (0, 1)].map { FramePlace(pack: $0.0, frame: $0.1) }
    for (pack, count) in [(7, 3), (3, 5000), (7, 9), (0, 2)] as [(UInt32, Int)] {
      #expect(notes.hasRoom(for: pack) == (count == 9))
      try notes.makeRoom(for: pack, frames: count)
    }
    for (number, place) in places.enumerated() { notes[place] = number }
    for (number, place) in places.enumerated() { #expect(notes[place] == number) }
    for (pack, frame) in [(7, 1), (7, 3), (3, 5000), (0, .max), (9, 0)] as [(UInt32, UInt32)] {
      #expect(notes[FramePlace(pack: pack, frame: frame)] == -1)
    }
    notes[FramePlace(pack: 7, frame: 3)] = 5
    #expect(notes[places[2]] == 2)
  }
}
