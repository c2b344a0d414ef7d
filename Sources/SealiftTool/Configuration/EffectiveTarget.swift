import Sealift

/// What holds of a target beside the keys of the configuration, for `config check`: by its URL, by variables, by a
/// profile, or because nothing else is said. It is looked for as a run does; no server is asked, and no command runs.
struct EffectiveTarget {
  private(set) var lines: [SettingLine] = []
  private let path: String
  /// Keys that the configuration says, which go before all else.
  private let stated: Set<String>
  /// Keys of which the command line says something else than the configuration.
  private let changed: Set<String>
  /// Where the URL stands.
  private let url: String

  /// - Parameters:
  ///   - target: as a run takes it.
  ///   - configured: the same as the configuration has it, where it does.
  ///   - known: what the configuration says.
  init(_ target: TargetSettings, insteadOf configured: TargetSettings, besides known: [SettingLine]) throws {
    let path = "targets.\(target.name)"
    let line = known.first { $0.key == "\(path).url" }
    self.path = path
    stated = Set(known.map(\.key))
    changed = target.keysChanged(from: configured)
    url = line?.from ?? "command line"
    if line == nil { note("url", target.name, url) }
    switch target.place {
    case .folder: break
    case .webdav(_, let user): if let user { note("user", user, url) }
    case .s3(let location): try note(location, target)
    }
  }

  private mutating func note(_ key: String, _ value: String, _ from: String) {
    let isChanged = changed.contains(key)
    // Of the URL in the configuration the user is the one thing that goes before its key.
    guard isChanged || key == "user" || !stated.contains("\(path).\(key)") else { return }
    lines.append(SettingLine(key: "\(path).\(key)", value: value, from: isChanged ? "command line" : from))
  }

  private mutating func note(_ location: Target.S3Location, _ target: TargetSettings) throws {
    let found = target.accessKeyID == nil ? noteCredentials(location, target) : nil
    var resolved = location
    resolved.endpoint = try location.endpoint ?? S3Identity.endpoint()
    let (region, regionFrom) = fallbackRegion(of: location, found)
    let configuration = resolved.configuration(region: region)
    let endpoint = Self.variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    note(
      "endpoint", configuration.endpoint.text, location.endpoint == nil ? endpoint.map(Self.from) ?? "default" : url)
    note("region", configuration.region, regionFrom)
    note("style", configuration.style.rawValue, location.style == nil ? "default" : url)
    if let storageClass = location.storageClass { note("storageClass", storageClass, url) }
    if target.caFile == nil, let variable = Self.variable("AWS_CA_BUNDLE"), let file = Environment.filled(variable) {
      note("caFile", file, Self.from(variable))
    }
  }

  /// - Returns: the region where the URL names none, and where the one that counts comes from.
  private func fallbackRegion(
    of location: Target.S3Location, _ found: S3CredentialSearch.Found?
  ) -> (region: String?, from: String) {
    if location.region != nil { return (nil, url) }
    if let variable = Self.variable("AWS_REGION", "AWS_DEFAULT_REGION") {
      return (Environment.filled(variable), Self.from(variable))
    }
    guard let found, let region = found.region, case .profile(let name, file: _) = found.credentials.source else {
      return (nil, "default")
    }
    return (region, "profile \(name)")
  }

  /// Whose credentials are taken: never what they are.
  private mutating func noteCredentials(
    _ location: Target.S3Location, _ target: TargetSettings
  ) -> S3CredentialSearch.Found? {
    let found: S3CredentialSearch.Found
    do { found = try S3Identity.search(target, profile: location.profile) } catch {
      note("credentials", "(none: \(error.message))", "default")
      return nil
    }
    switch found.credentials.source {
    case .target: break
    case .variables: note("credentials", "variables", Self.from("AWS_ACCESS_KEY_ID"))
    case .profile(let name, file: let file):
      let from = location.profile == nil ? Self.variable("AWS_PROFILE").map(Self.from) ?? "default" : url
      note("profile", name, from)
      note("credentials", "profile \(name)", file)
    }
    return found
  }

  /// The first of some variables that is set.
  private static func variable(_ names: String...) -> String? { names.first { Environment.filled($0) != nil } }

  private static func from(_ variable: String) -> String { "environment \(variable)" }
}
