import Repositories
import Sealing
import Storage

/// `sealift list` and `sealift show`.
package struct ListVersions: Sendable {
  package struct Outcome: Sendable {
    /// Oldest first.
    package var versions: [VersionSummary]
    /// Manifests that could not be read, chains with holes or forks: said, never hidden. Each with its target.
    package var problems: [OperationError]
    /// False on a machine that has not seen the repository before: it cannot prove that nothing newer was taken away.
    package var freshnessProvable: Bool
    package var formatVersion: Int
    /// The database that was named has versions there, whatever else was asked of them.
    package var holdsDatabase = true
    /// No manifest of any version is there.
    package var isBare = false
    /// The names of all databases that have versions there.
    package var databases: Set<String> = []
    /// That, and packs are there all the same.
    package var holdsPacksAlone = false
  }

  package struct Detail: Sendable {
    package struct Member: Sendable {
      /// `database`, `file`, `folder` or `link`.
      package var kind: String
      package var path: String
      package var size: Int
    }
    package struct Table: Sendable {
      package var name: String
      package var rows: Int
    }
    package var summary: VersionSummary
    /// The id of the version that it is a copy of, where it was pushed first.
    package var copiedFrom: String?
    package var previous: String?
    package var revision: Int
    package var packs: Int
    package var bytesDecoded: Int
    package var bytesFetched: Int
    package var members: [Member]
    /// As far as its rows were counted when it was pushed.
    package var tables: [Table] = []
    /// What the database is to Core Data.
    package var store: StoreFacts?
    /// What of its companions is not in it.
    package var capture: CaptureFacts?
    /// Of all members but the first.
    package var companionBytes: Int { members.dropFirst().map(\.size).clampedSum }
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Parameters:
  ///   - database: only its versions, and what is wrong with its chains and with those that do not say whose they are.
  ///   - tag: only versions with one that looks like it.
  ///   - forgotten: also versions that were forgotten and are still there.
  package func run(
    at target: TargetAccess, database: String? = nil, tag: String? = nil, forgotten: Bool = false
  ) async throws -> Outcome {
    do {
      let lookup = try await VersionLookup(at: target, world)
      let histories = try await histories(of: database, lookup)
      // Of another database than the one that is asked for no more was read than whose it is.
      let meant = histories.filter(\.isWhole)
      let provable = lookup.isFreshnessProvable(among: meant)
      var problems = (histories.flatMap { $0.problems + $0.goneThoughTakenBack } + lookup.vanishedChains()).map {
        OperationError($0, doing: target.name)
      }
      for history in meant {
        do {
          try await lookup.freshness(of: history)
          lookup.noteSeen(history)
        } catch {
          problems.append(OperationError(error, doing: target.name))
        }
        problems += await lookup.lostWords(of: history).map { OperationError($0, doing: target.name) }
      }
      let found = try await bounded(meant, atOnce: 4) { history in try await summaries(of: history, lookup) }
      problems += found.compactMap { $0.unread }.map { OperationError($0, doing: target.name) }
      let all = found.flatMap { $0.versions }
      var versions = all
      versions =
        versions
        .filter { forgotten || !$0.forgotten }
        .filter { version in database.map { version.database.isSameName(as: $0) } ?? true }
        .filter { version in tag.map { version.tags.contains($0) } ?? true }
        .sorted { ($0.time, $0.database, $0.sequence) < ($1.time, $1.database, $1.sequence) }
      var outcome = Outcome(
        versions: versions, problems: distinct(problems), freshnessProvable: provable,
        formatVersion: ObjectFormat.version,
        holdsDatabase: database == nil || all.contains { $0.database.isSameName(as: database) })
      outcome.databases = Set(histories.compactMap(\.database))
      outcome.isBare = lookup.isBare
      if lookup.isBare { outcome.holdsPacksAlone = try await lookup.holdsPacks() }
      return outcome
    } catch {
      throw OperationError(error, doing: "listing \(target.name)")
    }
  }

  private func histories(of database: String?, _ lookup: VersionLookup) async throws -> [ChainHistory] {
    guard let database else { return try await lookup.histories() }
    return try await lookup.histories { database.isSameName(as: $0.database) }
  }

  /// - Returns: with them, that not all can be read that was said of them.
  private func summaries(
    of history: ChainHistory, _ lookup: VersionLookup
  ) async throws -> (versions: [VersionSummary], unread: RepositoryError?) {
    let annotations = try await lookup.annotations(of: history)
    let fork = fork(of: history, lookup)
    let versions = (history.versions + history.displaced).compactMap { facts -> VersionSummary? in
      var version = VersionSummary(facts, target: lookup.targetName, annotations: annotations)
      version?.forgotten = history.isForgotten(facts)
      version?.fork = fork
      return version
    }
    return (versions, annotations.unread)
  }

  /// What a new machine's configuration must say to go on with a chain; `nil` for 0.
  private func fork(of history: ChainHistory, _ lookup: VersionLookup) -> UInt32? {
    guard let host = history.host, let database = history.database else { return nil }
    let keyring = lookup.repository.keys.keyring
    let fork = CopyLanes.fork(of: history.chain, host: host, database: database, keyring)
    return fork == 0 ? nil : fork
  }

  /// - Throws: `.noSuchVersion`, also when a prefix is ambiguous.
  package func show(_ selector: VersionSelector, at target: TargetAccess) async throws -> Detail {
    do {
      let lookup = try await VersionLookup(at: target, world)
      let found = try await lookup.find(selector)
      let manifest = try await lookup.manifest(of: found)
      let reader = try await VersionReader(manifest, repository: lookup.repository, state: lookup.state)
      let annotations = try await lookup.annotationsTellingLoss(of: found.history)
      guard var summary = VersionSummary(manifest, target: target.name, annotations: annotations) else {
        throw RepositoryError(.incomplete, "the manifest is no version")
      }
      summary.forgotten = found.history.isForgotten(found.facts)
      summary.fork = fork(of: found.history, lookup)
      let body = manifest.body
      return Detail(
        summary: summary, copiedFrom: body.remarks.origin?.version.hex,
        previous: reader.core.sequence > 1 ? reader.core.previous.hex : nil,
        revision: Int(body.revision), packs: reader.packCount, bytesDecoded: Int(clamping: body.bytesDecoded),
        bytesFetched: Int(clamping: body.bytesFetched), members: reader.core.members.map(Detail.Member.init),
        tables: body.remarks.rows.map { Detail.Table(name: $0.table, rows: Int(clamping: $0.rows)) },
        store: body.remarks.store.map(StoreFacts.init), capture: body.remarks.capture.map(CaptureFacts.init))
    } catch {
      throw OperationError(error, doing: "reading \(target.name)")
    }
  }

  private func distinct(_ problems: [OperationError]) -> [OperationError] {
    var seen: Set<String> = []
    return problems.filter { seen.insert($0.message).inserted }
  }
}

extension ListVersions.Detail.Member {
  init(_ member: Core.Member) {
    let kind =
      switch member.content {
      case .database: "database"
      case .file: "file"
      case .folder: "folder"
      case .link: "link"
      }
    self.init(kind: kind, path: member.path, size: Int(member.file?.length ?? 0))
  }
}
