import Storage
import Testing

@testable import Backends

@Suite struct S3CredentialTests {
  private func find(
    _ environment: [String: String], profile: String? = nil, files: [String: String] = [:]
  ) throws(StoreError) -> S3CredentialSearch.Found {
    try S3CredentialSearch.find(profile: profile, environment: environment) { path throws(StoreError) in files[path] }
  }

  private let files = [
    "/home/ali/.aws/credentials": """
    # the usual one
    [default]
    aws_access_key_id = AKDEFAULT
    aws_secret_access_key=sec=ret/+
    s3 =
        max_concurrent_requests = 20
    [ work ]
    AWS_ACCESS_KEY_ID = AKWORK
    aws_secret_access_key = two
    aws_session_token = tok
    """,
    "/home/ali/.aws/config": "[default]\nregion = eu-central-1\n\n[profile work]\nregion=ap-south-1\n; a comment\n",
    "/elsewhere": "[default]\r\naws_access_key_id = AKELSE\r\naws_secret_access_key = three\r\n",
    "/broken": "[default]\naws_access_key_id AKIA\nsecret-on-a-line-of-its-own\n",
  ]

  @Test func `variables come first`() throws {
    let found = try find(
      [
        "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_SESSION_TOKEN": "T", "AWS_REGION": "r1",
        "AWS_DEFAULT_REGION": "r2", "HOME": "/home/ali",
      ], files: files)
    #expect(found.credentials.accessKey == "AK" && found.credentials.secretKey == "SK")
    #expect(found.credentials.sessionToken == "T")
    #expect(found.region == "r1")
  }

  @Test func `then the default profile, then the one that is named`() throws {
    let plain = try find(["HOME": "/home/ali"], files: files)
    #expect(plain.credentials.accessKey == "AKDEFAULT" && plain.credentials.secretKey == "sec=ret/+")
    #expect(plain.credentials.sessionToken == nil && plain.region == "eu-central-1")
    for found in [
      try find(["HOME": "/home/ali", "AWS_PROFILE": "work"], files: files),
      try find(
        ["HOME": "/home/ali", "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "S"], profile: "work", files: files),
    ] {
      #expect(found.credentials.accessKey == "AKWORK" && found.credentials.sessionToken == "tok")
      #expect(found.region == "ap-south-1")
    }
  }

  @Test func `the shared file may lie elsewhere`() throws {
    let found = try find(["AWS_SHARED_CREDENTIALS_FILE": "/elsewhere", "AWS_DEFAULT_REGION": "r"], files: files)
    #expect(found.credentials.accessKey == "AKELSE" && found.credentials.secretKey == "three" && found.region == "r")
  }

  @Test func `the place that gave them is known`() throws {
    let variables = ["AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "HOME": "/home/ali"]
    #expect(try find(variables, files: files).credentials.source == .variables)
    let shared = "/home/ali/.aws/credentials"
    #expect(try find(variables, profile: "work", files: files).credentials.source == .profile("work", file: shared))
    #expect(try find(["HOME": "/home/ali"], files: files).credentials.source == .profile("default", file: shared))
    let config = ["/config": "[default]\naws_access_key_id = A\naws_secret_access_key = S\n"]
    let found = try find(["HOME": "/home/ali", "AWS_CONFIG_FILE": "/config"], files: config)
    #expect(found.credentials.source == .profile("default", file: "/config"))
  }

  /// A token that is left over in the other file made good keys bad.
  @Test func `keys and token come from one file, a region from either`() throws {
    let keys = "aws_access_key_id = A\naws_secret_access_key = S\n"
    let others = "aws_access_key_id = B\naws_secret_access_key = T\naws_session_token = old\nregion = r\n"
    let places = ["HOME": "/h", "AWS_CONFIG_FILE": "/config"]
    let both = try find(
      places, files: ["/h/.aws/credentials": "[default]\n\(keys)", "/config": "[default]\n\(others)"])
    #expect(both.credentials.accessKey == "A" && both.credentials.secretKey == "S")
    #expect(both.credentials.sessionToken == nil && both.region == "r")
    let leftOver = "[default]\naws_session_token = old\nregion = q\n"
    let second = try find(places, files: ["/h/.aws/credentials": leftOver, "/config": "[default]\n\(others)"])
    #expect(second.credentials.accessKey == "B" && second.credentials.sessionToken == "old" && second.region == "q")
    let third = try find(places, files: ["/h/.aws/credentials": leftOver, "/config": "[default]\n\(keys)"])
    #expect(third.credentials.accessKey == "A" && third.credentials.sessionToken == nil)
    #expect(third.credentials.source == .profile("default", file: "/config"))
  }

  /// It goes before the variables, so whoever sets those changes nothing.
  @Test func `a profile that was named and is not there is told without the variables`() throws {
    let error = #expect(throws: StoreError.self) {
      _ = try find(["HOME": "/home/ali", "AWS_ACCESS_KEY_ID": ""], profile: "bakcup", files: files)
    }
    let hint = try #require(error?.hint)
    #expect(hint.contains("profile bakcup into /home/ali/.aws/credentials") && !hint.contains("AWS_"), "\(hint)")
    let unnamed = #expect(throws: StoreError.self) { _ = try find(["HOME": "/nowhere"], files: files) }
    #expect(unnamed?.hint?.contains("AWS_ACCESS_KEY_ID") == true)
  }

  @Test func `half of a pair, none, and files that cannot be understood are explained`() {
    let cases: [([String: String], String?)] = [
      (["AWS_ACCESS_KEY_ID": "AK"], nil), ([:], nil), (["HOME": "/home/ali"], "unknown"),
      (["AWS_SHARED_CREDENTIALS_FILE": "/broken"], nil), (["AWS_ACCESS_KEY_ID": "", "HOME": "/none"], nil),
    ]
    for (environment, profile) in cases {
      let error = #expect(throws: StoreError.self) { _ = try find(environment, profile: profile, files: files) }
      #expect(error?.code == .unauthenticated)
      #expect(error?.hint != nil)
      #expect(error?.description.contains("secret-on") == false)
    }
  }

  @Test(arguments: [("[open", 1), ("name = value", 1), ("[a]\nnoise", 2), ("[a]\n= x", 2), ("[]", 1)])
  func `lines that are none are named by number`(_ text: String, _ line: Int) {
    let refusal = #expect(throws: INIFile.Refusal.self) { _ = try INIFile(text) }
    #expect(refusal?.line == line)
  }
}
