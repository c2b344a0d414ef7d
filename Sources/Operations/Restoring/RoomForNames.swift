/// What is moved aside keeps its name and gets a time behind it, and so does what the undo takes away: names that leave no
/// room for that are told before anything is fetched.
enum RoomForNames {
  /// Of a name, in bytes.
  private static let longest = 255
  /// `.before-20261120T120000Z`, or `.undone-` in its place.
  private static let added = 24

  /// - Parameter ending: bytes that stand behind the time.
  /// - Throws: `.failed`, code `nameTooLong`.
  static func demand(_ path: String, ending: Int = 0, hint: String) throws {
    let length = RestoredFile.name(of: path).utf8.count
    guard length + added + ending > longest else { return }
    throw OperationError(
      .failed, code: "nameTooLong",
      "\(path) cannot be moved aside: its name of \(length) bytes leaves no room for the time behind it", hint: hint)
  }
}

extension FoundVersion {
  /// - Throws: `.failed` where something stands in the place of a companion, or is kept beside it by SQLite, and cannot be
  ///   moved aside for its long name.
  func demandRoomForNames(of request: Restore.Request, beside path: String) throws {
    guard request.mode != .new else { return }
    let places = companionPlaces(of: request, beside: path).flatMap { place in
      ([""] + SideFiles.endings).map { place.path + $0 }
    }
    for place in places where CompanionsPlace.stands(place) {
      try RoomForNames.demand(
        place, hint: "Restore to a new file with --to FILE: companions come to lie in FILE.companions then.")
    }
  }
}
