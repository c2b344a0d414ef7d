import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Where a page is found that a frame of other pages took along, though it was known already.
@Suite struct KnownPacksTests {
  private let scratch: Scratch
  private var known: KnownPacks

  /// Page 1, 2 and 3 lie in pack 1.
  init() throws {
    scratch = try Scratch()
    known = try KnownPacks(in: scratch.path)
    try add(1, frames: [[1, 2, 3]])
  }

  private mutating func add(_ number: UInt32, frames: [[UInt64]], isStale: Bool = false) throws {
    let frames = frames.map { pages in
      EncodedFrame(
        codec: .zstd, type: .page, unitLengths: UnitLengths(uniform: 4096, count: pages.count),
        fingerprints: pages.map(fingerprint), bases: [], payload: [UInt8](repeating: 0, count: 84))
    }
    let directory = try Directory(
      decoding: Directory.encode(basePacks: [], frames: frames, meta: []), kind: .pack,
      end: Header.length + 100 * frames.count)
    let entry = PackEntry(
      number: number, name: .sha256(of: [UInt8(number)]), length: 4096, directoryLength: 0, version: 1, aead: 1, kem: 0,
      epoch: 1, salt: [])
    try known.add(entry, directory, unitsOfDeltas: nil, isStale: isStale)
  }

  private func fingerprint(_ page: UInt64) -> Fingerprint { Fingerprint(high: page, low: page) }

  private func place(of page: UInt64, behind last: UnitLocation?) -> UnitLocation? {
    known.place(of: fingerprint(page), behind: last, within: Reach(depth: 0))
  }

  private func at(_ pack: UInt32, _ frame: UInt32, _ unit: UInt16) -> UnitLocation {
    UnitLocation(pack: pack, frame: frame, unit: unit)
  }

  @Test mutating func `it continues a run, also into the next frame or pack`() throws {
    try add(2, frames: [[7, 1], [2, 8]])
    try add(3, frames: [[3, 9]])
    #expect(place(of: 1, behind: at(2, 0, 0)) == at(2, 0, 1))
    #expect(place(of: 2, behind: at(2, 0, 1)) == at(2, 1, 0))
    #expect(place(of: 3, behind: at(2, 1, 1)) == at(3, 0, 0))
    for page in 1...3 as ClosedRange<UInt64> {
      #expect(known.place(of: fingerprint(page)) == at(1, 0, UInt16(page - 1)), "alone")
    }
  }

  @Test mutating func `elsewhere it is found where it lies alone`() throws {
    try add(2, frames: [[7, 1], [2, 8]])
    for last in [nil, at(1, 0, 0), at(2, 0, 1), at(2, 1, 0), .zero, at(UnitLocation.newFrame, 0, 0)] {
      #expect(place(of: 1, behind: last) == nil, "\(last as Any)")
    }
    #expect(place(of: 2, behind: at(1, 0, 0)) == nil)
    #expect(place(of: 7, behind: at(1, 0, 2)) == nil, "known at one place only")
  }

  @Test mutating func `room for many units is taken at once, and what was there is found again`() throws {
    known.reserve(units: 5000)
    let room = known.room
    #expect(room >= 5000)
    let frames: [[UInt64]] = (0..<40 as Range<UInt64>).map { frame in
      let first = 100 + 64 * frame
      return Array(first..<first + 64)
    }
    try add(2, frames: frames)
    #expect(known.room == room - 40 * 64, "it did not grow")
    for page in 1...3 as ClosedRange<UInt64> {
      #expect(known.place(of: fingerprint(page)) == at(1, 0, UInt16(page - 1)))
    }
    #expect(known.place(of: fingerprint(100 + 64 * 39 + 63)) == at(2, 39, 63))
    known.reserve(units: 1)
    #expect(known.room == room - 40 * 64, "there is enough")
  }

  /// That is the one that the newest version refers to.
  @Test mutating func `of several frames that took it along the last counts`() throws {
    try add(2, frames: [[7, 1]])
    try add(3, frames: [[8, 1]])
    #expect(place(of: 1, behind: at(3, 0, 0)) == at(3, 0, 1))
    #expect(place(of: 1, behind: at(2, 0, 0)) == nil)
  }

  /// Versions go on referring to it until something pays for taking it out of there.
  @Test mutating func `it is found in a pack that is hardly of use any more, too`() throws {
    try add(2, frames: [[7, 1]], isStale: true)
    #expect(place(of: 1, behind: at(2, 0, 0)) == at(2, 0, 1))
    #expect(known.place(of: fingerprint(1)) == at(1, 0, 0))
  }

  /// What lies there nothing is to rest on; it may still be referred to, until it is stored anew.
  @Test mutating func `a place in a pack that is hardly of use any more counts only as long as there is no other`()
    throws
  {
    try add(2, frames: [[7, 8]], isStale: true)
    #expect(known.place(of: fingerprint(7)) == at(2, 0, 0) && known.ordinal(of: fingerprint(7), depth: 2) == nil)
    try add(3, frames: [[9, 7]])
    #expect(known.place(of: fingerprint(7)) == at(3, 0, 1) && known.ordinal(of: fingerprint(7), depth: 0) != nil)
    try add(4, frames: [[7]], isStale: true)
    #expect(known.place(of: fingerprint(7)) == at(3, 0, 1))
  }
}
