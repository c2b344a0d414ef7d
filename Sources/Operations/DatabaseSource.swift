/// A database to push, as the configuration or the command line names it.
package struct DatabaseSource: Sendable {
  package enum Method: String, Sendable, CaseIterable {
    case vacuum
    case pages
    /// Any file that its application made for us, as it is: an encrypted export.
    case file
  }

  package var name: String
  package var path: String
  package var method: Method
  /// A person asks for it now: what failed before is tried again.
  package var insistsOnMethod = false
  /// Milliseconds to wait for a writer.
  package var busyTimeoutMilliseconds: Int
  /// Stop when the -wal has grown by so many bytes while the copy was taken; `nil` is no limit.
  package var maxWalGrowth: Int?
  package var allowRecovery: Bool
  package var keepFreePages: Bool
  /// zstd's level; 0 stores pages as they are.
  package var compressionLevel: Int
  /// Keep plain images of earlier versions on this machine, so that a push sends only what changed.
  package var delta: Bool
  /// Whether such images are kept at all. A file as its application made it is no image.
  package var keepsBases: Bool { delta && compressionLevel > 0 && method != .file }
  /// Where they lie; `nil` is below the state folder.
  package var baseFolder: String?
  package var tags: [String]
  /// Begins a chain of its own when raised: the way out when two machines pushed as one.
  package var fork: UInt32
  /// The name is that of its file, because nobody gave it one.
  package var isNamedByPath = false
  /// Files and folders that come with it.
  package var companions: [Companion] = []
  /// Whether the external files of a Core Data store come with it, unasked.
  package var externalData = true

  package init(
    name: String, path: String, method: Method = .vacuum, busyTimeoutMilliseconds: Int = 30_000,
    maxWalGrowth: Int? = nil, allowRecovery: Bool = false, keepFreePages: Bool = false, compressionLevel: Int = 1,
    delta: Bool = true, baseFolder: String? = nil, tags: [String] = [], fork: UInt32 = 0
  ) {
    self.name = name
    self.path = path
    self.method = method
    self.busyTimeoutMilliseconds = busyTimeoutMilliseconds
    self.maxWalGrowth = maxWalGrowth
    self.allowRecovery = allowRecovery
    self.keepFreePages = keepFreePages
    self.compressionLevel = compressionLevel
    self.delta = delta
    self.baseFolder = baseFolder
    self.tags = tags
    self.fork = fork
  }
}
