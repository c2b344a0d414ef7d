/// A listing is held in memory as a whole, and a server says how long it is.
enum LongestListing {
  /// 32 TiB of packs of 8 MiB.
  static let objects = 4 << 20
}

extension XMLRefusal {
  static let tooManyResources = XMLRefusal("it lists too many objects")
}
