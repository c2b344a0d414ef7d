import Glibc
import Repositories
import Storage

/// The images that a database may have in the folder of its bases.
enum BaseName: String, CaseIterable {
  case anchor
  case middle

  func image(in folder: String) -> String { "\(folder)/\(rawValue).db" }

  /// Where an image lies until all of it is there.
  func unfinished(in folder: String) -> String { image(in: folder) + ".new" }

  func remove(in folder: String) {
    unlink(image(in: folder))
    unlink(BaseImage.samplesPath(image(in: folder)))
  }

  func removeUnfinished(in folder: String) {
    unlink(unfinished(in: folder))
    unlink(BaseImage.samplesPath(unfinished(in: folder)))
  }

  /// Lets what is finished take its name, the samples first: an image without them is none.
  /// - Returns: whether it has.
  func isTaken(in folder: String) -> Bool {
    let (new, old) = (unfinished(in: folder), image(in: folder))
    guard rename(BaseImage.samplesPath(new), BaseImage.samplesPath(old)) == 0, rename(new, old) == 0 else {
      removeUnfinished(in: folder)
      return false
    }
    unlink("\(folder)/\(Self.failure)")
    return true
  }

  /// An empty file, written when an image could not be kept.
  static let failure = "failure"

  /// An image could not be kept in the last week. Of either sign: a clock may have been set back.
  static func hasFailedLately(in folder: String) -> Bool {
    var status = stat()
    return lstat("\(folder)/\(failure)", &status) == 0 && abs(secondsSince(status.st_mtim)) < 7 * 86_400
  }

  /// Removes the images, and what they have cost, and nothing else that lies there.
  static func removeAll(in folder: String) {
    for name in ["record.json", failure] { unlink("\(folder)/\(name)") }
    for name in allCases {
      name.remove(in: folder)
      name.removeUnfinished(in: folder)
    }
  }
}
