import Testing

@testable import Backends

/// The examples that Amazon publishes for S3, and what they leave out.
/// See: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
@Suite struct SignatureTests {
  private let signature = Signature(
    credentials: S3Credentials(
      accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    region: "us-east-1", time: "20130524T000000Z")

  private func sign(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], hash: String = Signature.hex(Signature.sha256([]))
  ) -> (target: String, authorization: String) {
    let signed = signature.sign(
      Signature.Request(
        method: method, host: "examplebucket.s3.amazonaws.com", path: path, query: query, headers: headers,
        payloadHash: hash))
    return (signed.target, signed.headers.last?.value ?? "")
  }

  @Test func `GET of a range`() {
    let signed = sign("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
    #expect(
      signed.authorization == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    #expect(signed.target == "/test.txt")
  }

  @Test func `PUT with a storage class`() {
    let hash = Signature.hex(Signature.sha256(Array("Welcome to Amazon S3.".utf8)))
    #expect(hash == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    let signed = sign(
      "PUT", "/test$file.text",
      headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")], hash: hash)
    #expect(
      signed.authorization.hasSuffix("=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    #expect(signed.target == "/test%24file.text")
  }

  @Test func `a query without values`() {
    let signed = sign("GET", "/", query: [("lifecycle", "")])
    #expect(signed.authorization.hasSuffix("=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
    #expect(signed.target == "/?lifecycle=")
  }

  @Test func `a listing, whatever the order of its query`() {
    for query in [[("max-keys", "2"), ("prefix", "J")], [("prefix", "J"), ("max-keys", "2")]] {
      let signed = sign("GET", "/", query: query)
      #expect(signed.authorization.hasSuffix("=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
      #expect(signed.target == "/?max-keys=2&prefix=J")
    }
  }

  @Test func `paths and tokens are encoded once, byte by byte`() {
    #expect(sign("GET", "/b/a=b c+d:é@%2F'()*!~").target == "/b/a%3Db%20c%2Bd%3A%C3%A9%40%252F%27%28%29%2A%21~")
    #expect(sign("GET", "/b//../x/").target == "/b//../x/")
    let query = [("continuation-token", "1+/=="), ("prefix", "a b/&")]
    #expect(sign("GET", "/b", query: query).target == "/b?continuation-token=1%2B%2F%3D%3D&prefix=a%20b%2F%26")
  }

  @Test func `a session token is sent and signed`() {
    var temporary = signature
    temporary.credentials.sessionToken = "token+/="
    let signed = temporary.sign(
      Signature.Request(method: "GET", host: "h", path: "/", payloadHash: Signature.hex(Signature.sha256([]))))
    #expect(signed.headers.contains { $0 == ("x-amz-security-token", "token+/=") })
    #expect(
      signed.headers.last?.value.contains(
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,") == true)
  }

  @Test(arguments: [
    (0, "19700101T000000Z"), (1_369_353_600, "20130524T000000Z"), (951_827_696, "20000229T123456Z"),
    (4_102_444_799, "20991231T235959Z"), (1_709_164_800, "20240229T000000Z"),
  ])
  func `times are written as the signature wants them`(_ seconds: Int, _ text: String) {
    #expect(Signature.time(seconds) == text)
  }

  @Test func `credentials print without their secrets`() {
    let credentials = S3Credentials(accessKey: "AKIA", secretKey: "very-secret", sessionToken: "also-secret")
    var dumped = ""
    dump(credentials, to: &dumped)
    for text in ["\(credentials)", String(reflecting: credentials), "\([credentials])", dumped] {
      #expect(text.contains("AKIA") && !text.contains("secret"), "\(text)")
    }
  }
}
