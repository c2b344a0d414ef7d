/// At most so many requests at once, and no more bytes a second than the person allows.
package struct ThrottledStore: ObjectStore {
  private let base: any ObjectStore
  private let limit: ConcurrencyLimit
  private let upload: LimitedRate?
  private let download: LimitedRate?

  /// - Parameters:
  ///   - concurrency: as many as the store's own traits say, unless given.
  ///   - upload: shared by all stores of one run, so that the limit is for the machine and not for each target.
  package init(
    _ base: any ObjectStore, concurrency: Int? = nil, upload: LimitedRate? = nil, download: LimitedRate? = nil
  ) {
    self.base = base
    limit = ConcurrencyLimit(concurrency ?? base.traits.concurrency)
    self.upload = upload
    self.download = download
  }

  package var traits: StoreTraits { base.traits }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await limit.withPlace { () async throws(StoreError) in
      try await Self.line(upload, for: body.bytes.count) { () async throws(StoreError) in
        try await base.put(body, at: name, ifAbsent: ifAbsent)
      }
    }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await limit.withPlace { () async throws(StoreError) in
      let bytes = try await Self.line(download, for: range?.count ?? 0) { () async throws(StoreError) in
        try await base.get(name, range: range)
      }
      if range == nil { download?.add(bytes.count) }
      return bytes
    }
  }

  private static func line<Value: Sendable>(
    _ rate: LimitedRate?, for bytes: Int, _ work: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    guard let rate else { return try await work() }
    return try await rate.whileTaking(bytes, work)
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await limit.withPlace { () async throws(StoreError) in try await base.head(name) }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await limit.withPlace { () async throws(StoreError) in try await base.list(prefix: prefix) }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await limit.withPlace { () async throws(StoreError) in try await base.delete(name) }
  }
}
