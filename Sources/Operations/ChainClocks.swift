import Repositories
import Sealing

/// The versions of a chain were pushed one after the other: where their times go back, some clock was wrong.
extension ChainHistory {
  /// The last version that answers to a name. In a chain its order counts, not its times; and what was pushed after a
  /// version of a later time than the one asked for is newer than that, whatever its own clock said.
  func answer(to selector: VersionSelector, now: UInt64) -> VersionFacts? {
    let end = firstBeyond(selector, now: now) ?? versions.endIndex
    return versions[..<end].last { selector.matches($0) && !isForgotten($0) }
  }

  /// The last version that would answer by its own time alone, and the one which says that it was pushed later.
  func passedOver(by selector: VersionSelector, now: UInt64) -> (version: VersionFacts, after: VersionFacts)? {
    guard let beyond = firstBeyond(selector, now: now),
      let version = versions[beyond...].last(where: { selector.matches($0) && !isForgotten($0) })
    else { return nil }
    return (version, versions[beyond])
  }

  /// The place of the first version that was pushed after the time asked for; `nil` where none is known to be.
  private func firstBeyond(_ selector: VersionSelector, now: UInt64) -> Int? {
    guard case .notLater(_, let asked) = selector, asked < now else { return nil }
    let times = versions.map { $0.version?.time ?? .max }
    return ChainClocks.believed(times, now: now).first { times[$0] > asked }
  }
}

/// Which of the times in a chain are believed.
enum ChainClocks {
  /// As many as do not contradict each other: the longest run of times that never go back. So one clock that was wrong,
  /// ahead or behind, is overruled by all the others. Where as many say one thing as another, the later times are
  /// believed: who asks for a time gets rather an older version than one that is newer than that.
  /// - Parameters:
  ///   - times: in the order in which the versions were pushed.
  ///   - now: what is later has not been yet.
  /// - Returns: their places, ascending.
  static func believed(_ times: [UInt64], now: UInt64) -> [Int] {
    // From the end on. For each length of a run, one shorter at each place: where the one begins that begins latest.
    var beginnings: [Int] = []
    var followers: [Int: Int] = [:]
    for place in times.indices.reversed() where times[place] <= now {
      let length = beginnings.lastIndex { times[$0] >= times[place] }.map { $0 + 1 } ?? 0
      if length > 0 { followers[place] = beginnings[length - 1] }
      if length < beginnings.count { beginnings[length] = place } else { beginnings.append(place) }
    }
    var run: [Int] = []
    var next = beginnings.last
    while let place = next {
      run.append(place)
      next = followers[place]
    }
    return run
  }
}
