import Logging
import Sealift

/// Says every request to a target and how it ended, for `-v`. Names of objects say nothing of their content, and no
/// header or secret is in reach here.
struct LoggedStore: ObjectStore {
  private let base: any ObjectStore
  private let logger: Logger

  init(_ base: any ObjectStore, label: String) {
    self.base = base
    logger = Logger(label: label)
  }

  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await logged("put \(name), \(ByteCount.text(body.bytes.count))") { () async throws(StoreError) in
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    let part = range.map { ", bytes \($0.lowerBound) to \($0.upperBound)" } ?? ""
    return try await logged("get \(name)\(part)") { () async throws(StoreError) in
      try await base.get(name, range: range)
    }
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await logged("head \(name)") { () async throws(StoreError) in try await base.head(name) }
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    let found = try await logged("list \(prefix)") { () async throws(StoreError) in try await base.list(prefix: prefix)
    }
    logger.debug("list \(prefix): \(found.count) objects")
    return found
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    try await logged("delete \(name)") { () async throws(StoreError) in try await base.delete(name) }
  }

  private func logged<Result>(
    _ what: String, _ body: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let began = ContinuousClock.now
    do {
      let result = try await body()
      logger.debug("\(what): \(Times.tenths(.now - began)) s")
      return result
    } catch {
      logger.debug("\(what): \(error.code.rawValue) after \(Times.tenths(.now - began)) s")
      throw error
    }
  }
}
