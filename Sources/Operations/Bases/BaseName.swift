import Glibc
import Repositories

/// The images that a database may have in the folder of its bases.
enum BaseName: String, CaseIterable {
  case anchor
  case middle

  func image(in folder: String) -> String { "\(folder)/\(rawValue).db" }

  func remove(in folder: String) {
    unlink(image(in: folder))
    unlink(BaseImage.samplesPath(image(in: folder)))
  }

  /// Removes the images, and what they have cost, and nothing else that lies there.
  static func removeAll(in folder: String) {
    unlink("\(folder)/record.json")
    for name in allCases { name.remove(in: folder) }
  }
}
