package import Storage

/// Who we are to an S3 server. Prints without its secrets.
package struct S3Credentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// What gave them: who has to change them is told of that place alone, for no other is looked at.
  package enum Source: Sendable, Hashable {
    /// The target's own settings.
    case target
    /// `AWS_ACCESS_KEY_ID` and its siblings.
    case variables
    /// A profile of a shared file.
    case profile(String, file: String)
  }

  package var accessKey: String
  package var secretKey: String
  /// Only with temporary credentials.
  package var sessionToken: String?
  package var source: Source

  package init(accessKey: String, secretKey: String, sessionToken: String? = nil, source: Source = .target) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
    self.source = source
  }

  package var description: String { "access key \(accessKey)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}

extension S3Credentials.Source {
  /// Each as hints name it.
  var accessKey: String { named("the target's accessKeyId", "AWS_ACCESS_KEY_ID") }
  var secretKey: String { named("what the target's secretKeyFile or secretKeyCommand gives", "AWS_SECRET_ACCESS_KEY") }
  var sessionToken: String {
    named("what the target's sessionTokenFile or sessionTokenCommand gives", "AWS_SESSION_TOKEN")
  }

  private func named(_ setting: String, _ variable: String) -> String {
    switch self {
    case .target: setting
    case .variables: variable
    case .profile(let name, file: let path): "\(variable.lowercased()) of profile \(name) in \(path)"
    }
  }
}

/// Where credentials come from when the configuration does not give them: what other S3 tools use too.
package enum S3CredentialSearch {
  package struct Found: Sendable {
    package var credentials: S3Credentials
    /// When the place that had the credentials names a region too.
    package var region: String?
  }

  /// Looks in `AWS_ACCESS_KEY_ID` and its siblings, then in the profile `AWS_PROFILE` (or `default`) of the shared
  /// files. A profile that was asked for by name comes before the variables.
  /// - Parameters:
  ///   - profile: from the configuration; before `AWS_PROFILE`.
  ///   - readFile: the text of a file, `nil` when there is no such file.
  /// - Throws: `.unauthenticated` when there are none, or a file cannot be understood.
  package static func find(
    profile: String? = nil, environment: [String: String], readFile: (String) throws(StoreError) -> String?
  ) throws(StoreError) -> Found {
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let environmentRegion = variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
    if profile == nil, let key = variable("AWS_ACCESS_KEY_ID") {
      guard let secret = variable("AWS_SECRET_ACCESS_KEY") else {
        throw StoreError(
          .unauthenticated, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not",
          hint: "Set both variables, or neither to use a profile.")
      }
      let token = variable("AWS_SESSION_TOKEN")
      return Found(
        credentials: S3Credentials(accessKey: key, secretKey: secret, sessionToken: token, source: .variables),
        region: environmentRegion)
    }
    let name = profile ?? variable("AWS_PROFILE") ?? "default"
    let home = variable("HOME") ?? ""
    let credentialsPath = variable("AWS_SHARED_CREDENTIALS_FILE") ?? "\(home)/.aws/credentials"
    let configPath = variable("AWS_CONFIG_FILE") ?? "\(home)/.aws/config"
    let secrets = try section(name, of: credentialsPath, readFile) ?? [:]
    let settings = try section(name == "default" ? name : "profile \(name)", of: configPath, readFile) ?? [:]
    // All of one file: a token is good for no other keys than those that it was given with.
    let (keys, file) = secrets["aws_access_key_id"] == nil ? (settings, configPath) : (secrets, credentialsPath)
    guard let key = keys["aws_access_key_id"], let secret = keys["aws_secret_access_key"] else {
      guard profile == nil else {
        // The variables are not looked at then, so no word of them.
        throw StoreError(
          .unauthenticated,
          "no S3 credentials were found: \(credentialsPath) and \(configPath) have no keys for profile \(name)",
          hint: "Write aws_access_key_id and aws_secret_access_key of profile \(name) into \(credentialsPath), or have"
            + " profile or credentialsFile of the target name another one.")
      }
      throw StoreError(
        .unauthenticated, "no S3 credentials were found: no variables, and no keys for profile \(name)",
        hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put a profile \(name) into \(credentialsPath).")
    }
    let credentials = S3Credentials(
      accessKey: key, secretKey: secret, sessionToken: keys["aws_session_token"], source: .profile(name, file: file))
    return Found(credentials: credentials, region: environmentRegion ?? secrets["region"] ?? settings["region"])
  }

  private static func section(
    _ name: String, of path: String, _ readFile: (String) throws(StoreError) -> String?
  ) throws(StoreError) -> [String: String]? {
    guard let text = try readFile(path) else { return nil }
    do { return try INIFile(text).sections[name] } catch {
      throw StoreError(
        .unauthenticated, "\(path) cannot be understood: line \(error.line) \(error.reason)",
        hint: "Lines are [profile], name = value, or comments that begin with #.")
    }
  }
}
