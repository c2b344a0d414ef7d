extension Remarks {
  /// What of the companions is not in a version, or not as one might think (`Docs/Format.md` §6.4, type 4).
  package struct Capture: Sendable, Equatable {
    package enum Event: UInt8, Sendable, CaseIterable {
      /// A companion that the configuration names is not there at all.
      case missing = 1
      /// It was listed, and gone before it could be read.
      case vanished = 2
      /// It went on changing while it was read: what is kept is no state that it ever had. Or it was replaced, and nobody can
      /// tell whether before the rows were copied: the earlier one is kept.
      case unsettled = 3
      /// It may not be read, or its name cannot be kept.
      case unreadable = 4
      /// A socket, a pipe, a device: nothing to keep.
      case skipped = 5
    }

    package struct Entry: Sendable, Equatable {
      package let event: Event
      package let path: String

      package init(_ event: Event, _ path: String) {
        self.event = event
        self.path = path
      }
    }

    /// So many are named; the others are counted.
    package static let mostEntries = 1000

    /// How often each event happened.
    package let counts: [Event: UInt32]
    package let entries: [Entry]

    /// - Parameter entries: in any order; what stands there twice counts once.
    package init(_ entries: [Entry]) {
      var seen: [Event: Set<[UInt8]>] = [:]
      let distinct = entries.filter { seen[$0.event, default: []].insert(Array($0.path.utf8)).inserted }
      counts = seen.mapValues { UInt32(clamping: $0.count) }
      self.entries = Array(
        distinct.filter { $0.path.utf8.count <= 4096 }
          .sorted {
            $0.event == $1.event
              ? $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) : $0.event.rawValue < $1.event.rawValue
          }.prefix(Self.mostEntries))
    }

    package var isEmpty: Bool { counts.isEmpty }

    package func paths(_ event: Event) -> [String] { entries.filter { $0.event == event }.map(\.path) }
  }
}

extension Remarks.Capture {
  func encode() -> [UInt8] {
    var writer = ByteWriter()
    let known = Event.allCases.filter { counts[$0] != nil }
    writer.write(UInt16(known.count))
    for event in known {
      writer.write(event.rawValue)
      writer.write(counts[event] ?? 0)
    }
    writer.write(UInt16(entries.count))
    for entry in entries {
      writer.write(entry.event.rawValue)
      writer.write(string: entry.path)
    }
    return writer.bytes
  }

  init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "remark on companions")
    var counts: [Event: UInt32] = [:]
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 5)) {
      let event = try Self.readEvent(&reader)
      guard counts.updateValue(try reader.read(), forKey: event) == nil else {
        throw SealError(.malformed, "the remark on companions counts an event twice")
      }
    }
    var entries: [Entry] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 3)) {
      entries.append(Entry(try Self.readEvent(&reader), try reader.readString()))
    }
    self.counts = counts
    self.entries = entries
    try reader.expectEnd()
  }

  private static func readEvent(_ reader: inout ByteReader) throws(SealError) -> Event {
    guard let event = Event(rawValue: try reader.read(UInt8.self)) else {
      throw SealError(.malformed, "the remark on companions has an event that is not known")
    }
    return event
  }
}
