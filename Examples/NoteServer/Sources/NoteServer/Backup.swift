import Foundation
import GRDB
import Hummingbird
import Sealift

/// All that this server has to do with Sealift stands in this file.
actor Backup {
  /// What the versions of this server's database are listed under.
  private static let name = "notes"

  private let target: Repository.Target
  private let key: Repository.Key
  /// What this machine remembers of its pushes. Losing it never loses a version.
  private let state: String
  private var repository: Repository?

  init(_ settings: Settings) {
    // Or .s3(…), or .webDAV(…).
    target = .folder(settings.target)
    key =
      switch settings.secret {
      case .passphraseFile(let path): .passphraseFile(path)
      case .keyFile(let path): .keyFile(path)
      }
    state = settings.stateFolder + "/sealift"
  }

  /// Makes the repository, once. A server never does so by itself: where a disk is not mounted, it would begin a new one.
  func makeRepository() async throws {
    try await telling { _ = try await Repository.create(at: target, key: key, state: state) }
  }

  /// Pushes the database at a path while it is in use.
  func push(_ path: String, tags: [String]) async throws -> BackupVersion {
    try await telling {
      let pushed = try await opened().push(.database(named: Self.name, at: path), tags: tags)
      return BackupVersion(pushed.version, unchanged: !pushed.isNew)
    }
  }

  /// Oldest first.
  func versions() async throws -> [BackupVersion] {
    try await telling { try await opened().versions(of: Self.name).map { BackupVersion($0, unchanged: false) } }
  }

  /// Brings a version back as a new file, verified to the last byte.
  /// - Parameter id: all of it or its beginning.
  func pull(_ id: String, to path: String) async throws -> BackupVersion {
    try await telling {
      let repository = try await opened()
      // Others may keep databases of their own in it.
      guard try await repository.versions(of: Self.name).contains(where: { $0.id.hasPrefix(id) }) else {
        throw Failure(.notFound, code: "noSuchVersion", "there is no backup of the notes whose id begins with '\(id)'")
      }
      return BackupVersion(try await repository.pull(id, to: path).version, unchanged: false)
    }
  }

  /// Replaces the content of an open database by that of a file, in one transaction.
  /// - Parameter db: GRDB's writer, outside of a transaction.
  static func restore(_ path: String, into db: Database) throws {
    do {
      try Snapshot.restore(path, into: .connection(db.sqliteConnection))
    } catch let error as SealiftError {
      throw Failure(error)
    }
  }

  /// Opened when it is first needed: a target that is away at the start keeps nobody from reading notes.
  private func opened() async throws -> Repository {
    if let repository { return repository }
    let opened = try await Repository.open(at: target, key: key, state: state)
    repository = opened
    return opened
  }

  private func telling<T: Sendable>(_ work: () async throws -> T) async throws -> T {
    do { return try await work() } catch let error as SealiftError { throw Failure(error) }
  }
}

/// A version, as this server tells of it.
struct BackupVersion: Encodable, Sendable {
  /// 64 hexadecimal digits.
  var id: String
  var time: Date
  /// Of the database.
  var bytes: Int
  /// What it added to the target.
  var bytesNew: Int
  var tags: [String]
  /// Nothing had changed since: this version was there already.
  var unchanged: Bool

  fileprivate init(_ version: Repository.Version, unchanged: Bool) {
    id = version.id
    time = version.time
    bytes = version.size
    bytesNew = version.bytesNew
    tags = version.tags
    self.unchanged = unchanged
  }
}

extension Failure {
  /// Sealift's code, message and hint, and the status that a client of this server can decide by.
  fileprivate init(_ error: SealiftError) {
    let status: HTTPResponse.Status =
      switch error.kind {
      case .noSuchVersion: .notFound
      case .usage: .badRequest
      case .pushInProgress: .conflict
      case .sourceUnreadable: .serviceUnavailable
      default: .badGateway
      }
    self.init(status, code: error.code, error.message, hint: error.hint)
  }
}
