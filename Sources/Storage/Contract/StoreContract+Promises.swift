extension StoreContract {
  /// All promises; the first one tells whether the target answers at all.
  static let promises: [Promise] = [
    absence, roundTrips, sizes, freshListing, storingAgain, ifAbsent, replacing, ranges, badRanges, prefixes, names,
    manyAtOnce, race, wholeness, deleting,
  ]

  private static let absence = Promise(sentence: "it answers, and what is not there is absent rather than an error") {
    room in
    let name = try room.name("nothing/here")
    try expect(try await room.store.head(name) == nil, "an object that was never stored has a size")
    try expect(try await room.listed("").isEmpty, "a folder that was never used lists objects")
    let code = try await room.code { _ = try await room.store.get(name, range: nil) }
    try expect(code == .notFound, "reading what is not there ended in \(code.map(\.rawValue) ?? "success")")
    do {
      try await room.delete(name)
    } catch is MayNotDelete {
      return "these credentials may not delete, and a push needs no more"
    }
    return nil
  }

  private static let roundTrips = Promise(sentence: "it gives back what was stored, empty or large") { room in
    for (number, count) in [0, 1, 4096, 70_001, 3 << 20 | 1].enumerated() {
      let name = try room.name("sizes/\(count)")
      let stored = bytes(count, seed: UInt64(number))
      try await room.put(stored, at: name)
      let got = try await room.store.get(name, range: nil)
      try expect(sameBytes(got, stored), "\(count) bytes were stored and \(got.count) others came back")
    }
    return nil
  }

  private static let sizes = Promise(sentence: "it tells the right size, one by one and in listings") { room in
    for info in try await room.store.list(prefix: "\(room.folder)/sizes/") {
      let head = try await room.store.head(info.name)
      try expect(head == info, "the listing says \(info.size) bytes and the object \(head?.size ?? -1)")
      try expect("\(info.size)" == info.name.lastComponent, "\(info.name) is said to have \(info.size) bytes")
    }
    try expect(try await room.listed("sizes/").count == 5, "not all objects are listed")
    return nil
  }

  private static let freshListing = Promise(sentence: "it lists an object as soon as it is stored") { room in
    for number in 0..<10 {
      let name = try room.name("fresh/\(number)")
      try await room.put([UInt8(number)], at: name)
      let listed = try await room.listed("fresh/")
      try expect(listed.contains(name), "an object was missing in a listing made after it was stored")
      try expect(listed.count == number + 1, "\(number + 1) objects were stored and \(listed.count) listed")
    }
    return nil
  }

  private static let storingAgain = Promise(sentence: "it takes the same bytes again without a complaint") { room in
    let name = try room.name("again")
    let stored = bytes(5000, seed: 7)
    for ifAbsent in [true, true, false, false] { try await room.put(stored, at: name, ifAbsent: ifAbsent) }
    try expect(sameBytes(try await room.store.get(name, range: nil), stored), "the bytes are others afterwards")
    return nil
  }

  private static let ifAbsent = Promise(sentence: "it keeps what is there when asked for absence") { room in
    let name = try room.name("absent")
    let first = bytes(300, seed: 1)
    try await room.put(first, at: name, ifAbsent: true)
    for other in [bytes(300, seed: 2), bytes(299, seed: 3), []] {
      let code = try await room.code { try await room.put(other, at: name, ifAbsent: true) }
      try expect(code == .exists, "storing other bytes ended in \(code.map(\.rawValue) ?? "success")")
      try expect(try await room.store.get(name, range: nil) == first, "the first bytes are gone")
    }
    return nil
  }

  private static let replacing = Promise(sentence: "it replaces an object, so that a damaged one can be repaired") {
    room in
    let name = try room.name("repaired")
    for content in [bytes(10, seed: 1), bytes(4000, seed: 2), bytes(4000, seed: 3)] {
      try await room.put(content, at: name)
      try expect(try await room.store.get(name, range: nil) == content, "the old bytes are still there")
    }
    return nil
  }

  private static let ranges = Promise(sentence: "it reads exactly the range that was asked for") { room in
    let name = try room.name("ranged")
    let stored = bytes(100_000, seed: 11)
    try await room.put(stored, at: name)
    for range in [0..<1, 0..<100_000, 99_999..<100_000, 1..<99_999, 65_535..<65_537, 500..<500, 0..<0] {
      let got = try await room.store.get(name, range: range)
      try expect(sameBytes(got, Array(stored[range])), "bytes \(range) came back as \(got.count) other bytes")
    }
    return nil
  }

  private static let badRanges = Promise(sentence: "it refuses a range outside the object") { room in
    let name = try room.name("ranged")
    for range in [99_999..<100_001, 100_000..<100_001, 200_000..<200_010, 100_001..<100_001] {
      let code = try await room.code { _ = try await room.store.get(name, range: range) }
      try expect(code == .badRange, "bytes \(range) of 100000 ended in \(code.map(\.rawValue) ?? "success")")
    }
    let absent = try room.name("nothing")
    let code = try await room.code { _ = try await room.store.get(absent, range: 0..<4) }
    try expect(code == .notFound, "a range of nothing ended in \(code.map(\.rawValue) ?? "success")")
    return nil
  }

  private static let deleting = Promise(sentence: "it forgets what was deleted, also when told twice") { room in
    let name = try room.name("fresh/3")
    for _ in 0..<2 { try await room.delete(name) }
    try expect(try await room.store.head(name) == nil, "the object still has a size")
    let code = try await room.code { _ = try await room.store.get(name, range: nil) }
    try expect(code == .notFound, "reading it ended in \(code.map(\.rawValue) ?? "success")")
    try expect(try await room.listed("fresh/").count == 9, "the listing does not show that it is gone")
    try await room.put([1, 2, 3], at: name)
    try expect(try await room.store.get(name, range: nil) == [1, 2, 3], "it cannot be stored anew")
    try await room.delete(try room.name("fresh"))
    try expect(try await room.listed("fresh/").count == 10, "deleting what names begin with took objects along")
    return nil
  }
}
