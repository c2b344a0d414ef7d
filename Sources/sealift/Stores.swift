import Backends
import Operations
import Storage

/// The composition root: where a target's settings become a store.
struct Stores: Sendable {
  /// Shared by all targets of one run: the limit is for the machine, not for each target.
  let upload: LimitedRate?
  let download: LimitedRate?
  private let terminal: Terminal

  init(_ options: GlobalOptions, _ configuration: Configuration, _ terminal: Terminal) throws {
    upload = try Self.rate(options.limitUpload, "--limit-upload") ?? configuration.limitUpload.map(Self.line)
    download = try Self.rate(options.limitDownload, "--limit-download") ?? configuration.limitDownload.map(Self.line)
    self.terminal = terminal
  }

  /// A store as operations get it: each request waits for its turn, and is made again when that can help.
  ///
  /// - Parameter create: make the folder of a folder target.
  func store(for target: TargetSettings, create: Bool) throws -> any ObjectStore {
    retrying(throttled(try backend(for: target, create: create)), name: target.name)
  }

  private func retrying(_ store: any ObjectStore, name: String) -> any ObjectStore {
    RetryingStore(
      store,
      willRetry: { [terminal] retry in
        terminal.notice("\(name): \(retry.error.message); trying again in \(retry.pause.formattedSeconds)")
      })
  }

  private func throttled(_ store: any ObjectStore) -> any ObjectStore {
    ThrottledStore(store, upload: upload, download: download)
  }

  private func backend(for target: TargetSettings, create: Bool) throws -> any ObjectStore {
    do {
      guard let path = Self.folder(target.url) else {
        throw OperationError(.usage, "no such kind of target: \(target.url)")
      }
      return try FolderStore(path: path, create: create)
    } catch let error as StoreError {
      throw OperationError(
        error.code == .noTarget ? .noRepository : .failed, code: error.code.rawValue, error.message, hint: error.hint,
        cause: error)
    }
  }

  private static func folder(_ url: String) -> String? {
    url.hasPrefix("/") ? url : url.hasPrefix("file:///") ? String(url.dropFirst("file://".count)) : nil
  }

  private static func rate(_ text: String?, _ option: String) throws -> LimitedRate? {
    guard let text else { return nil }
    guard let rate = ByteCount.parseRate(text) else {
      throw OperationError(
        .usage, code: "badValue", "'\(text)' is not a rate for \(option)", hint: "Write bytes a second, such as 5MiB.")
    }
    return line(rate)
  }

  private static func line(_ bytesPerSecond: Int) -> LimitedRate { LimitedRate(bytesPerSecond: bytesPerSecond) }
}

extension Duration {
  /// `0.4 s`.
  fileprivate var formattedSeconds: String {
    let tenths = components.seconds * 10 + components.attoseconds / 100_000_000_000_000_000
    return "\(tenths / 10).\(tenths % 10) s"
  }
}
