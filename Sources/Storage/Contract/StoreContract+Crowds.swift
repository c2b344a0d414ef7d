extension StoreContract {
  static let prefixes = Promise(sentence: "it lists by any prefix, each object once") { room in
    let paths = ["tree/a", "tree/ab", "tree/a.b/c", "tree/a-b/c/d/e", "tree/a_b/1", "tree/a_b/2", "trees/a"]
    let names = try paths.map(room.name)
    for name in names { try await room.put(Array(name.text.utf8), at: name) }
    for prefix in [
      "tree", "tree/", "tree/a", "tree/a_", "tree/a_b", "tree/a_b/", "tree/a_b/1", "tree/a-b/c/", "tree/x/y",
    ] {
      let expected = names.filter { $0.text.hasPrefix("\(room.folder)/\(prefix)") }.sorted()
      let listed = try await room.listed(prefix)
      try expect(listed == expected, "\(prefix) lists \(listed.count) objects instead of \(expected.count)")
    }
    return nil
  }

  static let names = Promise(sentence: "it takes long and deep names") { room in
    let long = String(repeating: "n", count: 128)
    let deep = (0..<12).map { "level-\($0)" }.joined(separator: "/")
    // None that Windows keeps for itself, such as con: Nextcloud refuses those, and sealift makes none.
    let paths = [long, "in-\(long.dropLast(3))/\(long)", deep, "0.1-2_3", "a/b.tmp", "index.html", "x..y"]
    for path in paths {
      let name = try room.name("names/\(path)")
      try await room.put(Array(path.utf8), at: name)
      try expect(try await room.store.get(name, range: nil) == Array(path.utf8), "\(path) holds other bytes")
    }
    let listed = try await room.listed("names/")
    try expect(listed.count == paths.count, "\(paths.count) objects were stored and \(listed.count) listed")
    // Encrypted folders end at 143 bytes. Nothing of a repository has a name of more than 110.
    let longest = try room.name("names/\(String(repeating: "n", count: 200))")
    do {
      try await room.put([1], at: longest)
    } catch let error as StoreError where error.code == .unavailable || !error.isObstacle {
      // Some servers fail at it rather than refuse it.
      return "it takes no names of 200 bytes; sealift makes none so long"
    }
    let all = try await room.listed("names/")
    try expect(all.count == paths.count + 1, "a name of 200 bytes was taken, and is not listed")
    return nil
  }

  static let manyAtOnce = Promise(sentence: "it takes twenty objects at once") { room in
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          let name = try room.name("crowd/\(number % 5)/\(number)")
          let stored = bytes(50_000 + number, seed: UInt64(number))
          try await room.put(stored, at: name)
          let got = try await room.store.get(name, range: nil)
          try expect(sameBytes(got, stored), "an object stored beside others holds other bytes")
        }
      }
      try await group.waitForAll()
    }
    let listed = try await room.listed("crowd/")
    try expect(listed.count == 20, "20 objects were stored and \(listed.count) listed")
    return nil
  }

  /// A store that does not claim to decide in one step may let several win; who wins must be whole in any case.
  static let race = Promise(sentence: "it lets one of many writers win when asked for absence") { room in
    let contested = try room.name("race")
    let contenders = (0..<8).map { bytes(20_000, seed: $0 &+ 100) }
    let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
      for contender in contenders {
        group.addTask {
          let code = try await room.code { try await room.put(contender, at: contested, ifAbsent: true) }
          try expect(code == nil || code == .exists, "a writer ended in \(code.map(\.rawValue) ?? "")")
          return code == nil
        }
      }
      return try await group.reduce(into: 0) { wins, won in wins += won ? 1 : 0 }
    }
    let held = try await room.store.get(contested, range: nil)
    try expect(contenders.contains(held), "the object is a mixture")
    if wins == 1 { return nil }
    try expect(!room.store.traits.conditionalPut && wins > 0, "\(wins) of 8 writers were told that they had won")
    return "\(wins) of 8 writers were told that they had won; sealift does not rely on it"
  }

  static let wholeness = Promise(sentence: "it never shows a part of an object") { room in
    let name = try room.name("whole")
    let stored = bytes(6 << 20, seed: 5)
    let done = Locked(false)
    async let looks = look(for: name, in: room, until: done)
    do {
      try await room.put(stored, at: name)
      done.withLock { $0 = true }
    } catch {
      done.withLock { $0 = true }
      throw error
    }
    for size in try await looks {
      try expect(size == stored.count, "it was seen with \(size) of \(stored.count) bytes")
    }
    try expect(sameBytes(try await room.store.get(name, range: nil), stored), "it holds other bytes in the end")
    return nil
  }

  /// The sizes under which an object was seen, asking again and again until `done`.
  private static func look(for name: ObjectName, in room: Room, until done: Locked<Bool>) async throws -> Set<Int> {
    var sizes: Set<Int> = []
    while !done.withLock({ $0 }) {
      if let info = try await room.store.head(name) { sizes.insert(info.size) }
      sizes.formUnion(
        try await room.store.list(prefix: name.text).filter { $0.name == name }.map(\.size))
      try await Task.sleep(for: .milliseconds(1))
    }
    return sizes
  }
}
