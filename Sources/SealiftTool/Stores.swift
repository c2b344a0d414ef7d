import Sealift

/// The composition root: where a target's settings become a store.
struct Stores: Sendable {
  /// Shared by all targets of one run: the limit is for the machine, not for each target.
  let upload: LimitedRate?
  let download: LimitedRate?
  /// How long a target is waited for that has answered.
  private let patience: Duration
  /// By the names of targets: several databases of a run have a store each, and wait for their target together.
  private let outages = Locked<[String: Outage]>([:])
  /// Of servers: the databases of a run share their connections, and what was learned of them.
  private let servers = Locked<[Server: any ObjectStore]>([:])
  private let secrets = StoreSecrets()
  private let terminal: Terminal
  /// Of this machine; `nil` where none is known, and nothing remembered.
  private let stateFolder: String?

  init(_ options: GlobalOptions, _ configuration: Configuration, _ terminal: Terminal) throws {
    upload = try Self.rate(options.limitUpload, "--limit-upload") ?? configuration.limitUpload.map(Self.line)
    download = try Self.rate(options.limitDownload, "--limit-download") ?? configuration.limitDownload.map(Self.line)
    patience = configuration.patience
    self.terminal = terminal
    stateFolder = try? StatePlace(configuration).path
  }

  /// A store as operations get it: each request waits for its turn, and is made again when that can help.
  ///
  /// - Parameters:
  ///   - create: make the folder or collection of the target when it is missing.
  ///   - mayBeAbsent: a folder that is missing is told by the first request.
  ///   - isPatient: the target is waited for when it has answered and then does not.
  func store(
    for target: TargetSettings, create: Bool, mayBeAbsent: Bool = false, isPatient: Bool = true
  ) throws -> any ObjectStore {
    let backend = try backend(for: target, create: create)
    if !mayBeAbsent, let absent = backend as? AbsentFolder { throw refusal(absent) }
    return retrying(throttled(logged(backend, name: target.name)), name: target.name, isPatient ? patience : .zero)
  }

  /// Why the object lock of a target may be without effect; `nil` where it has none, or its bucket locks.
  func lockDoubt(of target: TargetSettings) async throws -> String? {
    guard case .s3(let location) = target.place, location.objectLock != nil else { return nil }
    let store = try backend(for: target.withoutLock, create: false) as? S3Store
    return await store?.lockDoubt()
  }

  /// Reads what a target's server will ask for, where no request has yet.
  func readSecrets(of target: TargetSettings) throws { try secrets.read(of: target) }

  private func refusal(_ absent: AbsentFolder) -> OperationError {
    OperationError(stateFolder.map { absent.absence.asOfUsed(absent, in: $0) } ?? absent.absence)
  }

  private func retrying(_ store: any ObjectStore, name: String, _ patience: Duration) -> any ObjectStore {
    var policy = RetryingStore.Policy()
    policy.patience = patience
    return RetryingStore(
      store, policy: policy, outage: outage(of: name),
      willRetry: { [terminal] retry in
        terminal.notice("\(name): \(retry.error.message); trying again \(Times.after(retry.pause))")
      })
  }

  private func outage(of name: String) -> Outage {
    outages.withLock { outages in
      let outage = outages[name] ?? Outage()
      outages[name] = outage
      return outage
    }
  }

  private func logged(_ store: any ObjectStore, name: String) -> any ObjectStore { LoggedStore(store, label: name) }

  private func throttled(_ store: any ObjectStore) -> any ObjectStore {
    ThrottledStore(store, upload: upload, download: download)
  }

  /// A server as the targets of one run reach it.
  private struct Server: Hashable {
    /// Of the target: who we are there is said by its settings.
    let name: String
    let place: Target
    let create: Bool
  }

  private func backend(for target: TargetSettings, create: Bool) throws -> any ObjectStore {
    // One may be mounted meanwhile, and to open it costs nothing.
    if case .folder = target.place { return try newBackend(for: target, create: create) }
    let server = Server(name: target.name, place: target.place, create: create)
    if let held = servers.withLock({ $0[server] }) { return held }
    let backend = try newBackend(for: target, create: create)
    servers.withLock { $0[server] = backend }
    return backend
  }

  /// No command of the target's runs before the first request: a push may need none.
  private func newBackend(for target: TargetSettings, create: Bool) throws -> any ObjectStore {
    var access = StoreAccess(now: { wallMilliseconds() / 1000 })
    access.create = create
    access.settings.caFile = target.caFile
    access.settings.uploadLimit = upload?.bytesPerSecond
    access.settings.downloadLimit = download?.bytesPerSecond
    access.user = target.user
    access.allowPlainPassword = target.allowPlainPassword
    if let password = target.password {
      access.findPassword = { [secrets] () throws(StoreError) in
        do { return try secrets.text(of: password) } catch { throw StoreError(ofSecret: error) }
      }
    }
    do {
      var place = target.place
      if case .s3(var location) = place {
        let identity = try S3Identity.find(target, profile: location.profile, secrets)
        let credentials = identity.credentials
        access.region = identity.region
        access.credentials = { () async throws(StoreError) in try await credentials.current() }
        if identity.canBeRenewed { access.renewal = credentials }
        location.endpoint = try location.endpoint ?? S3Identity.endpoint()
        place = .s3(location)
        access.settings.caFile = target.caFile ?? Environment.filled("AWS_CA_BUNDLE")
      }
      return try place.storeThereOrNot(access)
    } catch let error as StoreError {
      throw OperationError(error)
    }
  }

  private static func rate(_ text: String?, _ option: String) throws -> LimitedRate? {
    guard let text else { return nil }
    guard let rate = ByteCount.parseRate(text) else {
      throw OperationError(
        .usage, code: "badValue", "'\(text)' is not a rate for \(option)",
        hint: "Write bytes a second, such as 5MiB; the least is 1KiB.")
    }
    return line(rate)
  }

  private static func line(_ bytesPerSecond: Int) -> LimitedRate { LimitedRate(bytesPerSecond: bytesPerSecond) }
}

/// Who we are to an S3 server: by the configuration, else by what other S3 tools use.
struct S3Identity {
  let credentials: RenewableCredentials
  /// Variables stay what they were when the program began.
  var canBeRenewed = true
  let region: String?

  /// - Throws: `StoreError` when no credentials are found.
  static func find(_ target: TargetSettings, profile: String?, _ secrets: StoreSecrets) throws -> S3Identity {
    if let accessKey = target.accessKeyID, let secretKey = target.secretKey {
      let token = target.sessionToken
      @Sendable func credentials(_ text: (SecretSource) throws -> String) throws -> S3Credentials {
        S3Credentials(accessKey: accessKey, secretKey: try text(secretKey), sessionToken: try token.map(text))
      }
      let renewable = RenewableCredentials(
        first: { () throws(StoreError) in
          do { return try credentials(secrets.text) } catch { throw StoreError(ofSecret: error) }
        }, find: { try credentials(secrets.newText) })
      return S3Identity(
        credentials: renewable, region: Environment.filled("AWS_REGION") ?? Environment.filled("AWS_DEFAULT_REGION"))
    }
    let found = try Self.search(target, profile: profile)
    let renewable = RenewableCredentials(found.credentials) { try Self.search(target, profile: profile).credentials }
    return S3Identity(
      credentials: renewable, canBeRenewed: found.credentials.source != .variables, region: found.region)
  }

  /// In the variables and the shared files.
  static func search(
    _ target: TargetSettings, profile: String?
  ) throws(StoreError) -> S3CredentialSearch.Found {
    var environment: [String: String] = [:]
    for name in variables { environment[name] = Environment.filled(name) }
    var profile = profile
    if let file = target.credentialsFile {
      // A file that was named goes before the variables, like a profile that was named.
      environment["AWS_SHARED_CREDENTIALS_FILE"] = file
      profile = profile ?? environment["AWS_PROFILE"] ?? "default"
    }
    return try S3CredentialSearch.find(profile: profile, environment: environment, readFile: text)
  }

  static func endpoint() throws -> WebAddress? {
    guard let text = Environment.filled("AWS_ENDPOINT_URL_S3") ?? Environment.filled("AWS_ENDPOINT_URL") else {
      return nil
    }
    do { return try WebAddress(text) } catch {
      throw OperationError(
        .usage, code: "badValue", "the endpoint in AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL cannot be used",
        hint: "Write a URL such as https://s3.example.com.")
    }
  }

  private static let variables = [
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "HOME",
  ]

  private static func text(_ path: String) throws(StoreError) -> String? {
    do {
      return String(decoding: try FileContent.read(path, limit: 1 << 20), as: UTF8.self)
    } catch {
      if error.isAbsent { return nil }
      throw StoreError(
        .unauthenticated, "cannot read \(path): \(error.reason)", hint: "Check the file with the S3 credentials.")
    }
  }
}
