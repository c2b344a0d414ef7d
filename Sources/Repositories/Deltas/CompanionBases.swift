import FoundationEssentials
import Glibc
package import Sealing
import Storage

/// Earlier contents of companions that change, kept on this machine as bases for deltas: plain files below one folder.
///
/// A file comes here when it is pushed whole although the version before had other content under its path; what never
/// changes is never kept. Deltas rest on it until, beyond what the first of them did, they have cost as much as the whole
/// file; then it is pushed whole once more, and is its own base's successor. Nothing depends on what lies here, as with
/// `BaseImage`. One push at a time uses it.
package final class CompanionBases: Sendable {
  /// In bytes: shorter files cost little anyway, longer ones would fill this machine.
  static let lengths = 4096...(4 << 20)

  /// What a base and the deltas on it have cost, in bytes at the target.
  package struct Account: Codable, Sendable, Equatable {
    /// In bytes, of the file that lies here.
    var length: Int
    var whole: Int
    var firstDelta: Int?
    var excess = 0

    var pays: Bool { excess < whole }

    /// Far beyond any file, and far from where sums end.
    private static let bearable = -1 << 56...1 << 56

    /// Whether a push may have written this.
    var isSensible: Bool {
      CompanionBases.lengths.contains(length) && [whole, firstDelta ?? 0, excess].allSatisfy(Self.bearable.contains)
    }
  }

  /// What a push stored of a file.
  struct Stored: Sendable {
    var inWholeFrames = 0
    var inDeltas = 0
    /// In bytes, when all of it was copied.
    var copied: Int?
  }

  private let folder: String
  private let accounts: [String: Account]
  private let room: Int
  private let pushed = Locked<[String: Stored]>([:])
  /// Of the copies that are gathered, in bytes, by name: many files may look changed, and none of them be.
  private let copies = Locked((lengths: [String: Int](), total: 0))

  /// - Parameters:
  ///   - folder: is there.
  ///   - accounts: what `keep` returned last.
  ///   - room: for all bases, in bytes, and as much again for the copies that may become some.
  package init(in folder: String, accounts: [String: Account], room: Int) {
    self.folder = folder
    self.accounts = accounts
    self.room = room
  }

  /// What did not become a base is of no use to anybody, however the push has ended.
  deinit { for name in copies.withLock({ $0.lengths.keys }) { unlink(copyPath(name)) } }

  /// The accounts as they lie in a file, but for those that no push has written: a disk may give back anything, and what
  /// has these names is read and removed.
  package static func accounts(json: [UInt8]) -> [String: Account] {
    let all = (try? JSONDecoder().decode([String: Account].self, from: Data(json))) ?? [:]
    return all.filter { isName($0.key) && $0.value.isSensible }
  }

  /// What stands for a path here.
  static func name(of path: String) -> String { String(Digest.sha256(of: Array(path.utf8)).hex.prefix(32)) }

  private static func isName(_ text: String) -> Bool { Hex.decode(text)?.count == 16 }

  /// Forgets what a push stored that came to nothing.
  func begin() { pushed.withLock { $0 = [:] } }

  /// - Returns: the length of the base in bytes, if deltas on it still pay.
  func base(_ name: String) -> Int? { accounts[name].flatMap { $0.pays ? $0.length : nil } }

  /// The base's bytes, or fewer when it is not what it was.
  func read(_ name: String, _ range: Range<Int>) -> [UInt8] {
    let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count {
        let got = pread(
          descriptor, buffer.baseAddress.map { $0 + count }, range.count - count, off_t(range.lowerBound + count))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { return }
        count += got
      }
    }
  }

  /// Whether there is room for one more copy; then it is taken.
  func takeRoom(for name: String, _ length: Int) -> Bool {
    copies.withLock { copies in
      let others = copies.total - copies.lengths[name, default: 0]
      guard others + length <= room else { return false }
      copies.lengths[name] = length
      copies.total = others + length
      return true
    }
  }

  /// A copy that could not be made whole is taken away at once: others need the room.
  func dropCopy(_ name: String) {
    unlink(copyPath(name))
    copies.withLock { $0.total -= $0.lengths.removeValue(forKey: name) ?? 0 }
  }

  /// Where a copy of the file is gathered while it is pushed.
  func copyPath(_ name: String) -> String { "\(folder)/\(name).new" }

  func note(_ name: String, _ change: (inout Stored) -> Void) {
    pushed.withLock { change(&$0[name, default: Stored()]) }
  }

  /// Whether a file that was pushed whole will be a base: then it must lie where later versions can refer to it.
  var hasNewBases: Bool {
    pushed.withLock { $0.values.contains { $0.copied != nil && $0.inWholeFrames > 0 && $0.inDeltas == 0 } }
  }

  /// After the version was acknowledged: takes new bases in, and lets go of those whose files are gone.
  /// - Parameter members: of the version.
  package func keep(_ members: [Core.Member]) -> [String: Account] {
    let pushed = pushed.withLock { $0 }
    guard !accounts.isEmpty || !pushed.isEmpty else { return accounts }
    let names = Set(
      members.lazy.filter { if case .file = $0.content { true } else { false } }.map { Self.name(of: $0.path) })
    var kept = accounts.filter { names.contains($0.key) }
    for name in accounts.keys where kept[name] == nil { unlink("\(folder)/\(name)") }
    var used = kept.values.reduce(0) { $0 + $1.length }
    for (name, stored) in pushed {
      if stored.inDeltas > 0, var account = kept[name] {
        let cost = stored.inDeltas + stored.inWholeFrames
        // What is cheaper than the first gives nothing back, nor does it where an earlier program let it.
        account.excess = max(0, account.excess) + max(0, cost - (account.firstDelta ?? cost))
        account.firstDelta = account.firstDelta ?? cost
        kept[name] = account
      } else if stored.inWholeFrames > 0, let length = stored.copied, names.contains(name),
        used - (kept[name]?.length ?? 0) + length <= room, rename(copyPath(name), "\(folder)/\(name)") == 0
      {
        used += length - (kept[name]?.length ?? 0)
        kept[name] = Account(length: length, whole: stored.inWholeFrames)
      }
      unlink(copyPath(name))
    }
    return kept
  }
}
