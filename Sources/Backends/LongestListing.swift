/// A listing is held in memory as a whole, and a server says how long it is.
enum LongestListing {
  /// 32 TiB of packs of 8 MiB.
  static let objects = 4 << 20

  /// Until the first byte of an answer: a server may have much to look through before it can say anything.
  static let patience = Duration.seconds(15 * 60)

  /// What helps where a bucket has far more to look through than it lists.
  static let wayPastMarkers =
    "Where a bucket keeps older versions, each object that was deleted leaves a delete marker there, and a listing goes"
    + " through all of them. Give the bucket a lifecycle rule that removes noncurrent versions and expired delete"
    + " markers (`Docs/Stores.md`), and try again when it has run, mostly within a day or two."

  /// What helps where nothing came in that time.
  static let wayPastSilence = "\(wayPastMarkers) Where it keeps none, look whether the server hangs."

  /// What still helps where more lies below a prefix (`Docs/Format.md` §5).
  static func wayOut(_ prefix: String) -> String {
    switch prefix {
    case "versions/":
      "Bring all objects to a folder, which has no such bound: at `--target file:///path` versions are restored, forgotten and pruned. Push to a new repository, made with `sealift init`, and let `forget` and `prune` run long before."
    case "tomb/", "notes/", "gone/", "packs/":
      "Only `sealift check` and `sealift repair` need so long a listing; pushes and restores go on. To have those two again, `sealift copy` what is to stay to a new repository."
    default:
      "Set another \"fork\" for the database (1, 2) to begin a new chain; let `forget` and `prune` run long before."
    }
  }
}

extension XMLRefusal {
  static let tooManyResources = XMLRefusal("it lists too many objects")
  static let endless = XMLRefusal("it does not come to an end")
}
