import Glibc
import Storage

/// Sealed bytes kept to save requests, each under the hash it has at the target. All of it may vanish at any moment: what
/// is not here is fetched again, so processes need not agree on anything.
struct KeptObjects: Sendable {
  struct Limits: Sendable {
    /// Bytes in all, but for what is in use.
    var bytes = 512 << 20
    /// What was used in so many seconds is in use: the next push needs it again, and to fetch it each time costs more than
    /// its room. Directories of packs take two hundredths of what is stored.
    var inUse = 8 * 86_400
    /// Bytes of what is in use.
    var bytesInUse = 8 << 30
    /// Seconds after which what nobody used goes: the versions that needed it are gone from the target.
    var unused = 30 * 86_400
    /// The same for lists of units, which cannot be fetched again: of a database that hardly ever changes they are not used
    /// for long either. They are small, and no room is made for others at their cost.
    var unusedLists = 365 * 86_400
    /// Bytes of all lists of units: those of 256 GiB of pages.
    var listBytes = 1 << 30
    /// Seconds between two looks.
    var interval = 86_400
  }

  let path: String

  /// Using something shows in its time of modification, once a day.
  func read(_ name: String) -> [UInt8]? {
    let file = "\(path)/\(name)"
    guard let bytes = try? StateFiles.read(file) else { return nil }
    var status = stat()
    if stat(file, &status) == 0, age(status) > 86_400 { touch(file) }
    return bytes
  }

  func write(_ bytes: [UInt8], as name: String) {
    let file = "\(path)/\(name)"
    if (try? StateFiles.write(bytes, to: file, durably: false)) == nil, access(path, F_OK) != 0 {
      guard (try? StateFiles.makeFolder(path)) != nil else { return }
      try? StateFiles.write(bytes, to: file, durably: false)
    }
  }

  func remove(_ name: String) { StateFiles.remove("\(path)/\(name)") }

  /// Removes what was not used for long, what processes that died left half written, and, beyond the limits, what was not
  /// used for longest. Looks once a day.
  /// - Returns: whether it looked.
  @discardableResult
  func tidy(_ limits: Limits = Limits()) -> Bool {
    let stamp = "\(path)/.tidied"
    var status = stat()
    // Of either sign: a file may be newer than `time` says, by a moment on kernels that stamp files by a finer clock than it
    // reads, or by more where a clock was set back. One of far in the future holds nothing up for ever.
    if stat(stamp, &status) == 0, abs(age(status)) < limits.interval { return false }
    guard (try? StateFiles.write([], to: stamp, durably: false)) != nil else { return false }
    StateFiles.removeAbandoned(in: path)
    var objects: [Found] = []
    var lists: [Found] = []
    for name in StateFiles.names(in: path) {
      guard stat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      var age = age(status)
      // By a clock that was far ahead: its time runs from now on, else it would never end.
      if age < -86_400 {
        touch("\(path)/\(name)")
        age = 0
      }
      let isList = UnitList.isName(name)
      let found = Found(name: name, size: Int(status.st_size), age: age)
      if age > (isList ? limits.unusedLists : limits.unused) {
        remove(name)
      } else if isList {
        lists.append(found)
      } else {
        objects.append(found)
      }
    }
    let isInUse = objects.partition { $0.age <= limits.inUse }
    makeRoom(among: Array(objects[isInUse...]), within: limits.bytesInUse)
    let taken = objects[isInUse...].map(\.size).clampedSum
    makeRoom(among: Array(objects[..<isInUse]), within: max(0, limits.bytes - taken))
    makeRoom(among: lists, within: limits.listBytes)
    return true
  }

  private struct Found {
    let name: String
    let size: Int
    /// In seconds.
    let age: Int
  }

  /// Removes what was not used for longest.
  private func makeRoom(among found: [Found], within limit: Int) {
    var total = found.map(\.size).clampedSum
    for object in found.sorted(by: { $0.age > $1.age }) where total > limit {
      remove(object.name)
      total -= object.size
    }
  }

  /// Seconds since it was written or used.
  private func age(_ status: stat) -> Int { secondsSince(status.st_mtim) }

  private func touch(_ file: String) { utimensat(AT_FDCWD, file, nil, AT_SYMLINK_NOFOLLOW) }
}
