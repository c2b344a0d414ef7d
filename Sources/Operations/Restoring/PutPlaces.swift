import Storage

/// Where a restore that has ended has put what came with its version. Of other files nothing has changed: what restores
/// that did not end have left of those is still to be told.
struct PutPlaces {
  /// Each whole: what lies below comes with it.
  private let places: [String]

  /// - Parameters:
  ///   - database: its real path.
  ///   - path: the one that it was restored to, through whatever links; `places` begin as it does.
  init(_ places: [String], beside database: String, restoredAs path: String) {
    let start = RestoredFile.path("", in: PathSteps.folder(of: path))
    let home = PathSteps.folder(of: database)
    self.places =
      [database]
      + places.map { place in
        guard place.utf8.starts(with: start.utf8) else { return place }
        return RestoredFile.path(String(decoding: place.utf8.dropFirst(start.utf8.count), as: UTF8.self), in: home)
      }
  }

  /// Whether what a note names has been put now: a path, or the one that had what was moved there.
  func covers(_ noted: String) -> Bool {
    let origin = noted.ranges(of: ".before-").last.map { String(noted[..<$0.lowerBound]) }
    return [noted, origin].compactMap { $0 }.contains(where: has)
  }

  /// One of them, what lies below, or what SQLite keeps beside it.
  private func has(_ path: String) -> Bool {
    let kept = SideFiles.endings.filter { path.utf8.count > $0.utf8.count && path.hasSuffix($0) }
    let owners = [path] + kept.map { String(path.dropLast($0.count)) }
    return places.contains { place in owners.contains { MemberPath.isSameOrAbove(place, $0) } }
  }
}
