import Snapshots

/// The folder of external files, which nobody asked for, beside what may be a store of Core Data.
extension CompanionCapture {
  /// A support folder that is left out: no version can hold it.
  struct Outgrown: Sendable {
    let folder: String
    let why: String
  }

  enum Store {
    case coreData(CoreDataStore)
    case other
    /// The image is too damaged to say.
    case unknown

    var isOther: Bool { if case .other = self { true } else { false } }
  }

  var asksForSupport: Bool { roots.contains { $0.isAsked && $0.isSupport } }

  func coreDataStore(in snapshot: Snapshot) async throws -> Store {
    do {
      return try await readCoreDataStore(at: snapshot.path).map(Store.coreData) ?? .other
    } catch let error as SnapshotError where error.code != .cancelled {
      return .unknown
    }
  }

  /// Beside what is no store of Core Data that folder is somebody else's: nobody misses what cannot be had of it.
  func isInSupportOnly(_ path: String) -> Bool {
    let over = roots.filter { MemberPath.isSameOrAbove($0.memberPath, path) }
    return over.contains(where: \.isSupport) && !over.contains(where: \.isAsked)
  }

  /// The folder that nobody asked for, where no version can hold all. The rows are pushed without it then: a store that
  /// grows must not be without any backup from one day to the next.
  func outgrown(_ entries: [CompanionEntry]) -> Outgrown? {
    let support = roots.first { $0.isSupport && !$0.isAsked }?.memberPath
    guard let support, entries.contains(where: { MemberPath.isSame($0.path, support) }) else { return nil }
    do throws(OperationError) {
      try Self.demandFitting(entries, mostBytes: hooks.mostBytes)
      return nil
    } catch {
      return Outgrown(folder: support, why: error.message)
    }
  }
}
