import Glibc
import Sealing

/// A machine that pushes one database.
final class Host: @unchecked Sendable {
  static let pageSize = 4096

  let name: String
  let database = "app"
  /// What its clock shows beyond the true time, in milliseconds.
  let skew: Int
  private let root: String
  private var folders = 0
  private(set) var state: String
  var fork: UInt32 = 0
  var image: [UInt8]
  var running: Session?
  /// Restarts of a clone begin with the clone's own name for messages, but push as the host it was copied from.
  let identity: String

  init(_ name: String, identity: String, root: String, skew: Int, image: [UInt8]) {
    self.name = name
    self.identity = identity
    self.root = root
    self.skew = skew
    self.image = image
    state = "\(root)/\(name)-0"
  }

  /// The machine died: what was in its state folder at that moment is what the next run finds, whatever the dead one still writes.
  func leaveState(keeping: Bool) {
    let left = state
    folders += 1
    state = "\(root)/\(name)-\(folders)"
    if keeping { Folders.copy(left, to: state) }
  }

  /// The chain that it pushes to, as far as that depends on machines.
  var line: Line { Line(identity: identity, fork: fork) }

  struct Line: Hashable {
    let identity: String
    let fork: UInt32
  }

  func copyState(of other: Host) { Folders.copy(other.state, to: state) }

  /// Some pages change; now and then all of them, or none.
  func work(_ dice: inout Dice) {
    let pages = image.count / Self.pageSize
    let changed = dice.once(in: 8) ? 0 : dice.once(in: 6) ? pages : 1 + dice.below(pages)
    for _ in 0..<changed {
      let page = dice.below(pages) * Self.pageSize
      image.replaceSubrange(page..<page + Self.pageSize, with: Self.page(&dice))
    }
    if dice.once(in: 5) { image += Self.page(&dice) }
  }

  static func page(_ dice: inout Dice) -> [UInt8] {
    dice.once(in: 6) ? [UInt8](repeating: 0, count: pageSize) : dice.bytes(pageSize)
  }
}

/// Folders of small files, without Foundation.
enum Folders {
  static func copy(_ from: String, to: String) {
    mkdir(to, 0o700)
    for (name, isFolder) in entries(from) {
      if isFolder {
        copy("\(from)/\(name)", to: "\(to)/\(name)")
      } else {
        copyFile("\(from)/\(name)", to: "\(to)/\(name)")
      }
    }
  }

  static func remove(_ path: String) {
    for (name, isFolder) in entries(path) {
      if isFolder { remove("\(path)/\(name)") } else { unlink("\(path)/\(name)") }
    }
    rmdir(path)
  }

  private static func entries(_ path: String) -> [(name: String, isFolder: Bool)] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var found: [(name: String, isFolder: Bool)] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { found.append((name, entry.pointee.d_type == UInt8(DT_DIR))) }
    }
    return found.sorted { $0.name < $1.name }
  }

  private static func copyFile(_ from: String, to: String) {
    let source = open(from, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { return }
    defer { close(source) }
    let copy = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard copy >= 0 else { return }
    defer { close(copy) }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0, write(copy, buffer, count) == count else { return }
    }
  }
}
