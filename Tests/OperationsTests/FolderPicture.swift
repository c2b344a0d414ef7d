import FoundationEssentials
import Glibc
import TestKit

/// All that is kept of what lies below a folder, path by path.
struct FolderPicture: Equatable, CustomStringConvertible {
  private(set) var entries: [String: String] = [:]

  /// - Parameter times: with times of modification, in milliseconds.
  init(_ folder: String, times: Bool = true) throws { try look(folder, "", times) }

  private mutating func look(_ folder: String, _ below: String, _ times: Bool) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let path = "\(folder)/\(name)"
      let key = below.isEmpty ? name : "\(below)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      let modified = Int(status.st_mtim.tv_sec) * 1000 + Int(status.st_mtim.tv_nsec) / 1_000_000
      let time = times ? " \(modified)" : ""
      let mode = String(status.st_mode & 0o777, radix: 8)
      switch status.st_mode & S_IFMT {
      case S_IFDIR:
        entries[key] = "folder \(mode)\(time)"
        try look(path, key, times)
      case S_IFLNK:
        entries[key] = "link \(try FileManager.default.destinationOfSymbolicLink(atPath: path))"
      case S_IFREG:
        let bytes = try fileBytes(path)
        let sum = bytes.reduce(into: UInt64(14_695_981_039_346_656_037)) { $0 = ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        entries[key] = "file \(mode)\(time) \(bytes.count) \(sum)"
      default: entries[key] = "special"
      }
    }
  }

  var description: String {
    entries.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
  }
}

/// Makes trees that nobody would think of.
struct RandomTree {
  private var random: SeededRandom
  private let scalars: [String] = [
    "a", "b", "é", "e\u{301}", "\u{301}", " ", "-", "日", "'", "*", ".", "\n", "\u{1F600}",
  ]

  init(_ seed: UInt64) { random = SeededRandom(seed) }

  /// - Returns: how many files it has.
  mutating func make(in folder: String, depth: Int = 0) throws -> Int {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var files = 0
    for _ in 0..<Int.random(in: 0...6, using: &random) {
      let path = "\(folder)/\(name())"
      var status = stat()
      guard lstat(path, &status) != 0 else { continue }
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<3 where depth < 4: files += try make(in: path, depth: depth + 1)
      case 3: symlink(["..", "/etc/passwd", "nowhere", name()].randomElement(using: &random) ?? "x", path)
      default:
        try writeFile(path, content())
        chmod(path, [0o600, 0o644, 0o755, 0o400, 0o640].randomElement(using: &random) ?? 0o600)
        setTime(path, Int.random(in: 0...2_000_000_000_000, using: &random))
        files += 1
      }
    }
    chmod(folder, [0o700, 0o755, 0o750].randomElement(using: &random) ?? 0o700)
    setTime(folder, Int.random(in: 0...2_000_000_000_000, using: &random))
    return files
  }

  private mutating func name() -> String {
    var name = ""
    for _ in 0..<Int.random(in: 1...8, using: &random) { name += scalars.randomElement(using: &random) ?? "a" }
    return name == "." || name == ".." ? "dots" : name
  }

  private mutating func content() -> [UInt8] {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return []
    case 1: return [UInt8](repeating: 0, count: Int.random(in: 1...200_000, using: &random))
    case 2: return random.bytes(65_536 * Int.random(in: 1...2, using: &random))
    case 3:
      return random.bytes(70_000) + [UInt8](repeating: 0, count: 131_072) + random.bytes(7)
    default: return random.bytes(Int.random(in: 1...5000, using: &random))
    }
  }
}

/// - Parameter milliseconds: since 1970.
func setTime(_ path: String, _ milliseconds: Int) {
  let time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
  var times = [time, time]
  utimensat(AT_FDCWD, path, &times, AT_SYMLINK_NOFOLLOW)
}
