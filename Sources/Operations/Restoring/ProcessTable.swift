import Glibc

/// The processes of this machine, as far as this user may look into them.
struct ProcessTable {
  /// One that has a file open, or mapped.
  struct Holder: Hashable {
    let pid: Int32
    let command: String
    /// Paths as they were asked for.
    var files: [String]
  }

  private(set) var holders: [Holder] = []
  /// Those whose files could not be looked at: other users', mostly.
  private(set) var unseen: [Holder] = []
  /// False where there may be processes that are not listed at all.
  let isWhole: Bool

  /// Looks for who has any of these files open.
  /// - Parameters:
  ///   - ignoring: descriptors of this process that do not count.
  ///   - namespace: which processes there are for us; injected by tests.
  ///   - passesReaders: who only reads a file as a push does, by descriptors that do not block, does not count.
  ///   - onSight: called with the number of a process that has one of them open; for tests.
  init(
    holding files: [String: FileIdentity], ignoring own: Set<Int32> = [],
    namespace: UInt64? = ProcessTable.ownNamespace, passesReaders: Bool = false, onSight: (Int32) -> Void = { _ in }
  ) {
    let wanted = Dictionary(files.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    let inodes = Set(wanted.keys.map(\.inode))
    func look(_ pid: Int32) -> Set<String>? {
      let folder = Self.folder(of: pid)
      return Self.open(in: folder, wanted, ignoring: pid == getpid() ? own : [], passesReaders: passesReaders)
        .map { $0.union(Self.mapped(in: folder, wanted, inodes)) }
    }
    var seen = Self.all
    isWhole = namespace == Self.firstNamespace && seen.contains(getpid()) && !Self.hidesOthers
    var pids = seen
    // Who ends may have handed on what it had open, to a child that was not there when all were listed. Somewhere it ends,
    // whatever is started meanwhile.
    for _ in 0..<10 where !pids.isEmpty {
      for pid in pids.sorted() {
        guard let found = look(pid) else {
          if let command = Self.command(of: pid) { unseen.append(Holder(pid: pid, command: command, files: [])) }
          continue
        }
        guard !found.isEmpty else { continue }
        onSight(pid)
        for _ in 0..<50 where Self.isBeingStarted(pid) { usleep(20_000) }
        // It may have come to its own program, or ended, since: what it had open before says nothing then.
        guard let files = look(pid) ?? (Self.hasEnded(pid) ? nil : found), !files.isEmpty else { continue }
        holders.append(Holder(pid: pid, command: Self.command(of: pid) ?? "?", files: files.sorted()))
      }
      pids = Self.all.subtracting(seen)
      seen.formUnion(pids)
    }
    holders.sort { $0.pid < $1.pid }
    unseen.sort { $0.pid < $1.pid }
  }

  private static var all: Set<Int32> { Set((folderEntries("/proc") ?? []).compactMap { Int32($0) }) }

  /// Gone, or only waiting for its parent to hear of it. Of what cannot be told, no.
  private static func hasEnded(_ pid: Int32) -> Bool {
    guard let isOver = isOver(folder(of: pid)) else { return kill(pid, 0) != 0 && errno == ESRCH }
    return isOver
  }

  /// Where it shows what a process has open: of one whose first thread has ended, at another one, which goes on. All that
  /// the first one shows then is nothing.
  private static func folder(of pid: Int32) -> String {
    let own = "/proc/\(pid)"
    guard isOver(own) == true else { return own }
    let threads = (folderEntries("\(own)/task") ?? []).filter { $0 != "\(pid)" }.map { "\(own)/task/\($0)" }
    return threads.first { isOver($0) == false } ?? own
  }

  /// Of a process, or a thread, as its folder says; `nil` where that cannot be told.
  private static func isOver(_ folder: String) -> Bool? {
    // 4711 (name, which may hold anything) Z 4242 …
    guard let text = systemText("\(folder)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    return ["Z", "X"].contains(text[end...].dropFirst(2).prefix(1))
  }

  /// The number of the machine's own table of processes, in every Linux (PROC_PID_INIT_INO). A container has one of its
  /// own, which shows nothing of what runs beside it, on the same files perhaps.
  static let firstNamespace: UInt64 = 0xEFFF_FFFC

  /// `nil` when it cannot be told.
  static var ownNamespace: UInt64? {
    var status = stat()
    return stat("/proc/self/ns/pid", &status) == 0 ? UInt64(status.st_ino) : nil
  }

  /// Whether it is a child of this process that does not run a program of its own yet: until then it has what we have open.
  /// One that stays so, as workers of a server do that was forked, counts in the end.
  private static func isBeingStarted(_ pid: Int32) -> Bool {
    // 4711 (name, which may hold anything) S 4242 …
    let text = systemText("/proc/\(pid)/stat") ?? ""
    guard let end = text.lastIndex(of: ")"),
      text[end...].split(separator: " ").dropFirst(2).first.flatMap({ Int32($0) }) == getpid()
    else { return false }
    var (own, other) = (stat(), stat())
    return stat("/proc/self/exe", &own) == 0 && stat("/proc/\(pid)/exe", &other) == 0
      && FileIdentity(own) == FileIdentity(other)
  }

  /// `/proc` can be mounted so that it shows a user's own processes only.
  private static var hidesOthers: Bool {
    (systemText("/proc/self/mountinfo") ?? "").split(separator: "\n").contains { line in
      guard line.contains(" /proc "), let setting = line.firstRange(of: "hidepid=") else { return false }
      let value = line[setting.upperBound...].prefix { $0 != "," && $0 != " " }
      return geteuid() != 0 && !["0", "off"].contains(value)
    }
  }

  /// `nil` when the process may not be looked into.
  private static func open(
    in folder: String, _ wanted: [FileIdentity: String], ignoring own: Set<Int32>, passesReaders: Bool
  ) -> Set<String>? {
    guard let descriptors = folderEntries("\(folder)/fd") else { return nil }
    var found: Set<String> = []
    for descriptor in descriptors.compactMap({ Int32($0) }) where !own.contains(descriptor) {
      guard let file = FileIdentity(ofRegularFileKnownAt: "\(folder)/fd/\(descriptor)") else { continue }
      guard let path = wanted[file], !passesReaders || !onlyReads(folder, descriptor) else { continue }
      found.insert(path)
    }
    return found
  }

  /// It reads only, and does not block: so a push has its files open, and no library one that it locks.
  private static func onlyReads(_ folder: String, _ descriptor: Int32) -> Bool {
    // pos:    0
    // flags:  02104000, in octal
    let lines = (systemText("\(folder)/fdinfo/\(descriptor)") ?? "").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("flags:") }), let word = line.split(separator: "\t").last,
      let flags = Int32(word, radix: 8)
    else { return false }
    return flags & (O_WRONLY | O_RDWR) == 0 && flags & O_NONBLOCK != 0
  }

  /// Whether this process has a file open, but for what we read of it ourselves: as a companion, or for another push. No
  /// library locks a file by a descriptor that does not block.
  static func isOpenHere(_ file: FileIdentity) -> Bool {
    (folderEntries("/proc/self/fd") ?? []).compactMap { Int32($0) }.contains { descriptor in
      FileIdentity(ofRegularFileKnownAt: "/proc/self/fd/\(descriptor)") == file
        && fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0
    }
  }

  /// What was closed may still be mapped.
  private static func mapped(
    in folder: String, _ wanted: [FileIdentity: String], _ inodes: Set<UInt64>
  ) -> Set<String> {
    guard let bytes = systemBytes("\(folder)/maps"), namesAny(bytes, of: inodes) else { return [] }
    let text = String(decoding: bytes, as: UTF8.self)
    var found: Set<String> = []
    // 7f2c1000-7f2c9000 rw-s 00000000 08:01 1312344    /srv/app.db-shm
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ", maxSplits: 5)
      guard fields.count == 6, let inode = UInt64(fields[4]), inode != 0, inodes.contains(inode) else { continue }
      for (file, path) in wanted where file.inode == inode && fields[3] == file.deviceInHexadecimal {
        found.insert(path)
      }
    }
    return found
  }

  /// A process has thousands of lines, and hardly ever one that matters. Many files are looked for in one go.
  private static func namesAny(_ maps: [UInt8], of inodes: Set<UInt64>) -> Bool {
    guard inodes.count > 16 else { return inodes.contains { maps.holds(" \($0) ") } }
    var (field, number) = (0, UInt64(0))
    for byte in maps {
      switch byte {
      case UInt8(ascii: "\n"): (field, number) = (0, 0)
      case UInt8(ascii: " "):
        if field == 4, number != 0, inodes.contains(number) { return true }
        field += 1
      case UInt8(ascii: "0")...UInt8(ascii: "9") where field == 4:
        number = number &* 10 &+ UInt64(byte - UInt8(ascii: "0"))
      default: break
      }
    }
    return false
  }

  /// The beginning of its command line; `nil` for what has none, such as threads of the kernel, and for what is gone.
  static func command(of pid: Int32) -> String? {
    guard let text = systemText("/proc/\(pid)/cmdline"), !text.isEmpty else {
      // Of one whose first thread has ended, nothing but its name is left.
      let folder = folder(of: pid)
      return folder == "/proc/\(pid)" ? nil : systemText("\(folder)/comm").map { $0.split(separator: "\n").joined() }
    }
    let words = text.split(separator: "\0").joined(separator: " ")
    return words.count > 60 ? words.prefix(59) + "…" : words
  }
}

extension [UInt8] {
  fileprivate func holds(_ text: String) -> Bool {
    (self + [0]).withUnsafeBytes { bytes in
      bytes.bindMemory(to: CChar.self).baseAddress.map { strstr($0, text) != nil } ?? false
    }
  }
}

extension FileIdentity {
  /// `08:01`, as the process table writes it.
  fileprivate var deviceInHexadecimal: String { "\(Self.two(major)):\(Self.two(minor))" }

  private static func two(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return digits.count < 2 ? "0" + digits : digits
  }
}
