import Operations
import Storage

/// Sealed versions of databases at one target, with keys of their own.
///
/// ```swift
/// let repository = try await Repository.open(
///   at: .folder("/mnt/backup"), key: .passphraseFile("/etc/app/backup-passphrase"), state: "/var/lib/app/sealift")
/// let pushed = try await repository.push(.database(named: "app", at: "/var/lib/app/app.db"))
/// ```
///
/// What is stored is deduplicated, compressed, encrypted and authenticated on this machine; the target is trusted with
/// nothing but keeping bytes. It is the same repository that the command line `sealift` works with.
///
/// A repository holds no lock between calls; any number of them may be open, also in several processes. One at a server keeps
/// a thread and up to 16 idle connections to it until it is released.
public struct Repository: Sendable {
  /// 32 hexadecimal digits.
  public let id: String
  let world: World
  let target: TargetAccess

  /// What may be said differently of a repository; none of it is needed.
  public struct Options: Sendable {
    /// The host that versions are named after. When `nil`, what this machine was called when it first pushed with this
    /// state folder.
    public var host: String?
    /// Bytes a second, at most, for all of this repository's transfers together; 1024 or more.
    public var uploadLimit: Int?
    /// Bytes a second, at most, for all of this repository's transfers together; 1024 or more.
    public var downloadLimit: Int?
    /// How long a target is waited for that has answered this repository before and now does not: requests are made again
    /// until then. One that has never answered is given up after eight tries. Each wait is a remark, then one a minute.
    public var patience = Duration.seconds(15 * 60)
    /// Told remarks that a person should see even when all goes well, such as a request that is made again: for a log.
    /// The library itself never prints.
    public var onRemark: @Sendable (String) -> Void = { _ in }

    public init() {}
  }

  /// Opens the repository at a target.
  ///
  /// Where both copies of its sealed configuration are lost it opens all the same, with a remark: versions are listed and
  /// restored, and ``push(_:tags:note:progress:)`` throws.
  ///
  /// - Parameters:
  ///   - target: where it is.
  ///   - key: what opens it. Each operation that needs the key asks for it again, and derives what it needs from it: a
  ///     passphrase costs about half a second and 128 MiB each time, other keys nothing.
  ///   - state: the path of a folder where this machine remembers what it pushed and saw; made, with its parents, when
  ///     it is missing. Several repositories may share it. Losing it never loses a version, only bytes.
  ///   - options: what may be said differently.
  /// - Throws: `SealiftError` of kind `noRepository`, `wrongKey`, `verificationFailed` when what is there is damaged or
  ///   was rolled back, `usage` when the target or the key makes no sense, `failed` when the target does not answer;
  ///   `CancellationError`.
  public static func open(
    at target: Target, key: Key, state: String, options: Options = Options()
  ) async throws -> Repository {
    do {
      let world = try World(state: state, options)
      let access = try target.access(key, options)
      return Repository(id: try await OpenRepository(world).run(at: access), world: world, target: access)
    } catch {
      throw told(error)
    }
  }

  /// Makes a repository at a target where there is none, and opens it. Folders and collections are made when they are
  /// missing; buckets are not.
  ///
  /// ```swift
  /// let repository = try await Repository.create(
  ///   at: .folder("/mnt/backup"), key: .passphraseFile("/etc/app/backup-passphrase"), state: "/var/lib/app/sealift")
  /// ```
  ///
  /// Without its key nobody can read a repository again: keep the key also somewhere else.
  /// - Parameters:
  ///   - target: where it will be.
  ///   - key: what will open it.
  ///   - state: the path of a folder where this machine remembers what it pushed and saw; made, with its parents, when
  ///     it is missing.
  ///   - options: what may be said differently.
  /// - Throws: `SealiftError` with the code `repositoryExists` when there is one already; else as
  ///   ``open(at:key:state:options:)``.
  public static func create(
    at target: Target, key: Key, state: String, options: Options = Options()
  ) async throws -> Repository {
    do {
      let world = try World(state: state, options)
      let made = try await Initialize(world).run(
        at: try target.access(key, options), ifMissing: false, maker: try target.maker(key, options))
      return Repository(id: made.repository, world: world, target: try target.access(key, options))
    } catch {
      throw told(error)
    }
  }
}
