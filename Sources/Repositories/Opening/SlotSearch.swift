package import Sealing
import Storage

/// Opens one key slot. Tests count how often: with a passphrase it takes a second, and memory.
package typealias SlotOpening = @Sendable ([UInt8], SlotSecret, RepositoryID) throws(SealError) -> MasterKey

/// The key slots at a target, of all repositories that lie there, and what a secret opens of them.
struct SlotSearch: Sendable {
  struct Slot: Sendable {
    let name: NumberedName
    let bytes: [UInt8]
    let repository: RepositoryID
    let work: Int
  }

  struct Opened: Sendable {
    let slot: Slot
    let master: MasterKey
  }

  private let names: [NumberedName]
  private let store: any ObjectStore
  private let secret: SlotSecret
  private let opening: SlotOpening
  /// Whole slots that were not tried yet, those that ask for the least first.
  private var untried: [Slot] = []
  /// The repositories that whole slots are bound to, ascending.
  private(set) var owners: [RepositoryID] = []
  /// Why a slot could not be tried: that is not wrong, and a person would look for another key.
  private(set) var refusal: SealError?
  /// Why a slot could not be read that the target shows: it may be the one that is meant.
  private(set) var unread: StoreError?
  /// The hashes of whole slots.
  private(set) var whole: Set<Digest> = []
  /// Slots of which copies are there, and none is whole: one of each.
  private(set) var spoilt: [NumberedName] = []
  /// Slots that a later program wrote.
  private(set) var later: Set<Digest> = []
  private let cut: [NumberedName]

  /// - Parameter cut: names of objects that have another size.
  init(
    _ names: [NumberedName], cut: [NumberedName], at store: any ObjectStore, with secret: SlotSecret,
    opening: @escaping SlotOpening
  ) {
    self.names = names.filter { $0.length <= KeySlot.longest }
    self.cut = cut.filter { $0.length == KeySlot.length }
    self.store = store
    self.secret = secret
    self.opening = opening
  }

  /// Reads all of them, once.
  mutating func readAll() async throws {
    guard owners.isEmpty else { return }
    // Each slot lies there twice.
    var found: [Digest: Slot] = [:]
    var unread: [(slot: Digest, problem: StoreError)] = []
    var broken: [Digest: NumberedName] = [:]
    for name in cut { broken[name.digest] = name }
    for name in names.sorted(by: { $0.number > $1.number }) where found[name.digest] == nil {
      var problem: StoreError?
      switch try await look(at: name, &problem) {
      case .whole(let slot): found[name.digest] = slot
      case .spoilt: broken[name.digest] = name
      case .later: later.insert(name.digest)
      case .nothing: if let problem { unread.append((name.digest, problem)) }
      }
    }
    whole = Set(found.keys)
    let known = whole.union(later).union(unread.map(\.slot))
    spoilt = broken.filter { !known.contains($0.key) }.values.sorted { $0.number < $1.number }
    // One whose other copy was read is tried as any.
    self.unread = unread.first { found[$0.slot] == nil }?.problem
    owners = Set(found.values.map(\.repository)).sorted { $0.hex < $1.hex }
    // To try one costs a second, and memory. What asks for more than others comes last: who can write to the target
    // could have planted it.
    untried = found.values.sorted(by: { ($0.work, $1.name.number) < ($1.work, $0.name.number) })
  }

  private enum Look {
    case whole(Slot)
    /// There are other bytes than those of its name.
    case spoilt
    case later
    /// It is gone, cannot be read, or was never a slot.
    case nothing
  }

  private func look(at name: NumberedName, _ unread: inout StoreError?) async throws -> Look {
    guard let bytes = try await store.present(name.objectName, &unread) else { return .nothing }
    guard Digest.sha256(of: bytes) == name.digest else { return name.length == KeySlot.length ? .spoilt : .nothing }
    do throws(SealError) {
      let description = try KeySlot.describe(bytes)
      return .whole(
        Slot(name: name, bytes: bytes, repository: description.repository, work: description.cost.work))
    } catch {
      return error.isLater ? .later : .nothing
    }
  }

  /// Of each repository the slot that this machine opened last, where it is there still and opens.
  /// - Parameter state: where that is remembered.
  func openLast(of repositories: [RepositoryID], in state: String?) async throws -> [Opened] {
    guard let state else { return [] }
    var opened: [Opened] = []
    for repository in repositories {
      guard let last = SlotMemory(in: StateFolder(reading: state, repository: repository)).remembered,
        let found = try await open(last, of: repository)
      else { continue }
      opened.append(found)
    }
    return opened
  }

  private func open(_ last: Digest, of repository: RepositoryID) async throws -> Opened? {
    var unread: StoreError?
    for name in names where name.digest == last {
      guard case .whole(let slot) = try await look(at: name, &unread) else { continue }
      return (try? opening(slot.bytes, secret, repository)).map { Opened(slot: slot, master: $0) }
    }
    return nil
  }

  /// Whether a slot of these repositories is left.
  func hasUntried(_ repositories: Set<RepositoryID>) -> Bool {
    untried.contains { repositories.contains($0.repository) }
  }

  /// Tries slots of these repositories. Once one has opened, only others that ask for no more are tried: dear ones
  /// beside it are most likely planted.
  /// - Parameter bound: what a slot may ask for, if one has opened before.
  /// - Throws: `CancellationError`: anybody can plant slots, and each may take a second.
  mutating func open(_ repositories: Set<RepositoryID>, atMost bound: Int?) async throws -> [Opened] {
    var opened: [Opened] = []
    var tried: Set<Digest> = []
    var wanted = repositories
    var most = bound
    for slot in untried where wanted.contains(slot.repository) {
      if let most, slot.work > most { break }
      await Task.yield()
      try Task.checkCancellation()
      tried.insert(slot.name.digest)
      // A slot of another secret or a damaged one is passed over: one must open.
      do throws(SealError) {
        opened.append(Opened(slot: slot, master: try opening(slot.bytes, secret, slot.repository)))
        wanted.remove(slot.repository)
        most = most ?? slot.work
      } catch  where error.code == .failed {
        refusal = refusal ?? error
      } catch {
        continue
      }
    }
    untried.removeAll { tried.contains($0.name.digest) }
    return opened
  }
}
