import Repositories
import Sealing

/// The versions of a chain were pushed one after the other: where their times go back, some clock was wrong.
extension ChainHistory {
  /// The last version that answers to a name. In a chain its order counts, not its times; and what was pushed after a
  /// version of a later time than the one asked for is newer than that, whatever its own clock said.
  ///
  /// A version whose clock was wrong may be newer than the time asked for, too, though nothing says so. It answers where
  /// the target says that it was there by then, or where there is no other.
  func answer(to selector: VersionSelector, _ times: StorageTimes) -> VersionFacts? {
    guard let past = self.past(of: selector, now: times.now) else { return versions.last { counts($0, selector) } }
    let places = versions.indices.filter { $0 < past.end && counts(versions[$0], selector) }
    let believed = places.last { past.believed.contains($0) }
    let other = places.last { place in
      guard let believed else { return true }
      guard place > believed else { return false }
      let earlier = (believed..<place).last { past.believed.contains($0) } ?? believed
      return times.wasThere(versions[place], at: past.asked, after: versions[earlier])
    }
    return (other ?? believed).map { versions[$0] }
  }

  /// Versions behind the answer that were pushed by a clock that was wrong, nobody knows whether before the time asked for.
  func doubted(behind answer: VersionFacts?, _ selector: VersionSelector, now: UInt64) -> [VersionFacts] {
    guard let past = self.past(of: selector, now: now) else { return [] }
    let place = answer?.sequence ?? 0
    return versions[..<past.end].filter { $0.sequence > place && counts($0, selector) }
  }

  /// The last version that would answer by its own time alone, and the one which says that it was pushed later.
  func passedOver(by selector: VersionSelector, now: UInt64) -> (version: VersionFacts, after: VersionFacts)? {
    guard let past = self.past(of: selector, now: now),
      let version = versions[past.end...].last(where: { counts($0, selector) })
    else { return nil }
    return (version, versions[past.end])
  }

  /// The last time before a version that is believed: it was pushed later than that.
  /// - Parameter time: that of a version; its own unless given.
  func believedTime(
    before version: VersionFacts, now: UInt64, _ time: (VersionFacts) -> UInt64? = { $0.version?.time }
  ) -> UInt64? {
    let times = versions.map { time($0) ?? .max }
    let place = ChainClocks.believed(times, now: now).last { versions[$0].sequence < version.sequence }
    return place.map { times[$0] }
  }

  private func counts(_ version: VersionFacts, _ selector: VersionSelector) -> Bool {
    selector.matches(version) && !isForgotten(version)
  }

  /// Of a time that is past: the places whose times are believed, and that of the first of them which was pushed after it;
  /// the end of all where none is known to be.
  private func past(of selector: VersionSelector, now: UInt64) -> (asked: UInt64, believed: Set<Int>, end: Int)? {
    guard case .notLater(_, let asked) = selector, asked < now else { return nil }
    let times = versions.map { $0.version?.time ?? .max }
    let believed = ChainClocks.believed(times, now: now)
    return (asked, Set(believed), believed.first { times[$0] > asked } ?? versions.endIndex)
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
