import Glibc
import Sealift

/// What a process that we started has started, as `/proc` shows it; nothing where that shows nothing.
///
/// A process group of their own would tell them too, but the keys of a terminal would not reach it, what asks there would be
/// stopped, and whoever kills all of ours at once (`timeout -k`) would leave it.
enum ProcessTree {
  /// Its children, theirs, and so on.
  static func below(_ ancestor: pid_t) -> [pid_t] {
    let all = (folderEntries("/proc") ?? []).compactMap { pid_t($0) }
    let children = Dictionary(grouping: all) { look(at: $0)?.parent ?? 0 }
    var found = children[ancestor] ?? []
    var next = 0
    while next < found.count {
      let more = (children[found[next]] ?? []).filter { !found.contains($0) }
      found += more
      next += 1
    }
    return found
  }

  /// One that has ended, and that nobody has taken note of yet, does not count.
  static func isRunning(_ process: pid_t) -> Bool { look(at: process).map { $0.state != "Z" } ?? false }

  private static func look(at process: pid_t) -> (state: Substring, parent: pid_t)? {
    // 4711 (name, which may hold anything) S 4242 …
    let text = systemText("/proc/\(process)/stat") ?? ""
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].split(separator: " ").dropFirst().prefix(2)
    guard fields.count == 2, let state = fields.first, let parent = fields.last.flatMap({ pid_t($0) }) else {
      return nil
    }
    return (state, parent)
  }
}
