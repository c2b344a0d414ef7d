import Repositories

/// What was said of versions after they were pushed. What is lost of it at the target leaves no gap: whoever looks at what
/// is there goes on without, so that somebody has to raise the alarm of it.
extension VersionLookup {
  func annotations(of history: ChainHistory) async throws -> Annotations {
    let notes = try await notes(of: history.chain)
    return try await repository.annotations(of: history.chain, listed: notes, state: kept)
  }

  /// The same, for who lets go of versions.
  /// - Throws: also for an annotation that cannot be read: it may be a pin.
  func everyAnnotation(of history: ChainHistory) async throws -> Annotations {
    let notes = try await notes(of: history.chain)
    return try await repository.everyAnnotation(of: history.chain, listed: notes, state: kept)
  }

  /// What this machine has said, or read, of versions of a chain, and is not listed. Annotations are to be read after this:
  /// another command of this machine may have said it behind the first listing. That nobody can read what this machine has
  /// said is told with all that it remembers.
  /// - Parameter known: is told already.
  func lostWords(of history: ChainHistory, besides known: [any Error] = []) async -> [any Error] {
    do {
      try await demandOwnWords(of: history)
      return []
    } catch let error as RepositoryError {
      let isKnown = known.contains { ($0 as? RepositoryError)?.message == error.message }
      return isKnown || error.code == .stateFolder ? [] : [error]
    } catch {
      return [error]
    }
  }

  /// What was said of versions, for who restores or looks at one: a person hears what is lost of it, and goes on.
  func annotationsTellingLoss(of history: ChainHistory) async throws -> Annotations {
    let lost = await lostWords(of: history).compactMap { $0 as? RepositoryError }
    let annotations = try await annotations(of: history)
    for problem in lost { tell(problem) }
    if let unread = annotations.unread { tell(unread) }
    return annotations
  }

  private func tell(_ problem: RepositoryError) {
    reporter.notice("\(targetName): \(problem.message). \(problem.hint ?? "")")
  }

  /// Before somebody is told that nothing of a kind was said of a version: it may be what is lost.
  /// - Parameter annotations: as they were read.
  func demandWords(of history: ChainHistory, _ annotations: Annotations) async throws {
    try await demandOwnWords(of: history)
    if let unread = annotations.unread { throw unread }
  }
}
