import CCurl
import Glibc
import Storage

/// One request on its way and what came back so far. After it was handed to the loop, only the loop's thread
/// touches it; that is why it may say that it is sendable.
final class CurlTransfer: @unchecked Sendable {
  typealias Outcome = Result<HTTPResponse, StoreError>

  let number: Int
  let request: HTTPRequest
  private let continuation: CheckedContinuation<Outcome, Never>
  /// Bytes of the request's body that were handed to libcurl.
  private var sent = 0
  /// Bytes of answers that came, refused ones and headers too.
  private var received = 0
  var pace: TransferPace
  private var headers: [(name: String, value: String)] = []
  private var answer: [UInt8] = []
  private var isTooLarge = false
  private var status = 0
  /// Bytes that came of a whole resource, instead of the part that is wanted.
  private var passed = 0
  private var hasWanted = false
  /// The last answer refused the login: when there is a better one, another answer follows.
  private var isLoginRefused: Bool { status == 401 }
  private var headerList: UnsafeMutablePointer<curl_slist>?
  /// Everything that needs memory could be set so far.
  private var isReady = true
  private let detail = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init(_ number: Int, _ request: HTTPRequest, _ continuation: CheckedContinuation<Outcome, Never>) {
    self.number = number
    self.request = request
    self.continuation = continuation
    pace = TransferPace(now: .now)
    detail.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_slist_free_all(headerList)
    detail.deallocate()
  }

  /// Wakes the task that waits. Once for each transfer.
  func finish(_ outcome: Outcome) { continuation.resume(returning: outcome) }

  /// Bytes that came, and bytes of the body that were handed to the kernel: fewer than libcurl has taken, which reads a
  /// mebibyte ahead. They are fewer again when it has to go back to the start.
  func moved(_ handle: UnsafeMutableRawPointer) -> Int {
    received + uploaded(handle)
  }

  /// The kernel has the body to its end. Not so before a login is asked for, which goes with none, or while libcurl waits
  /// in the middle.
  func isSent(_ handle: UnsafeMutableRawPointer) -> Bool { uploaded(handle) >= request.body?.count ?? 0 }

  private func uploaded(_ handle: UnsafeMutableRawPointer) -> Int {
    var uploaded: curl_off_t = 0
    sl_get_offset(handle, CURLINFO_SIZE_UPLOAD_T, &uploaded)
    return Int(uploaded)
  }

  /// How long its answer may be in the making; `nil` where it may stand still for no longer than any transfer.
  /// - Parameter hasArrived: all of the request was sent, and the other side has acknowledged it, so it is there.
  func patience(hasArrived: Bool) -> Duration? {
    guard hasArrived, answer.isEmpty || isLoginRefused else { return nil }
    return request.patience
  }

  private var isForThisMachine: Bool { (try? WebAddress("http://\(request.authority)"))?.isLoopback == true }

  private var mayHaveProxy: Bool {
    !isForThisMachine && ProxyVariables.nameProxy(for: request.url.hasPrefix("https:") ? .https : .http)
  }

  private static func verdict(of handle: UnsafeMutableRawPointer) -> CertificateVerdict {
    var verdict = CertificateVerdict()
    sl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &verdict.server)
    sl_get_long(handle, CURLINFO_PROXY_SSL_VERIFYRESULT, &verdict.proxy)
    return verdict
  }

  func outcome(_ code: CURLcode, of handle: UnsafeMutableRawPointer, _ settings: HTTPSettings) -> Outcome {
    if isTooLarge {
      return .failure(
        StoreError(.badAnswer, "the answer of \(request.authority) is longer than \(request.largestAnswer) bytes"))
    }
    guard code == CURLE_OK || hasWanted else {
      var tunnel = 0
      sl_get_long(handle, CURLINFO_HTTP_CONNECTCODE, &tunnel)
      if let refused = StoreError.tunnel(tunnel, authority: request.authority) { return .failure(refused) }
      let words = String(cString: detail)
      return .failure(
        .transport(
          code, detail: words, authority: request.authority, caFile: settings.caFile, mayHaveProxy: mayHaveProxy,
          verdict: Self.verdict(of: handle)))
    }
    var offered = 0
    sl_get_long(handle, CURLINFO_HTTPAUTH_AVAIL, &offered)
    var schemes: HTTPLogin.Schemes = []
    if offered & sl_auth_basic != 0 { schemes.insert(.basic) }
    if offered & sl_auth_digest != 0 { schemes.insert(.digest) }
    let skipped = isWholeInstead ? passed - answer.count : 0
    return .success(
      HTTPResponse(status: status, headers: headers, body: answer, skipped: max(0, skipped), offered: schemes))
  }
}

extension CurlTransfer {
  /// Sets everything on a fresh handle. The handle points to this transfer, so the loop keeps it until the handle is
  /// released.
  /// - Returns: whether libcurl had the memory for all of it; else nothing may be sent.
  func configure(_ handle: UnsafeMutableRawPointer, _ settings: HTTPSettings) -> Bool {
    set(handle, CURLOPT_URL, request.url)
    set(handle, CURLOPT_USERAGENT, "sealift")
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https")
    sl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    // The path was signed as it is.
    sl_set_long(handle, CURLOPT_PATH_AS_IS, 1)
    sl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    sl_set_long(handle, CURLOPT_NETRC, 0)
    // A proxy is another machine: what is meant for this one, a password perhaps, must not be shown to it.
    if isForThisMachine { set(handle, CURLOPT_NOPROXY, "*") }
    sl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    // Who gives up a name that no name server answers to waits for none of them: all transfers stand still meanwhile.
    sl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
    sl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    sl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
    // Who is gone while an answer may be long in the making shows it in two minutes: nine questions, by the kernel's default.
    sl_set_long(handle, CURLOPT_TCP_KEEPIDLE, 30)
    sl_set_long(handle, CURLOPT_TCP_KEEPINTVL, 10)
    sl_set_long(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    sl_set_pointer(handle, CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(detail))
    limit(handle, settings)
    if let caFile = settings.caFile {
      set(handle, CURLOPT_CAINFO, caFile)
      // Else the system's folder of authorities, which is a default of its own, would vouch as well.
      isReady = sl_set_string(handle, CURLOPT_CAPATH, nil) == CURLE_OK && isReady
    }
    if let login = request.login { logIn(handle, login) }
    describeMethod(handle)
    listHeaders(handle)
    receive(handle)
    return isReady
  }

  private func set(_ handle: UnsafeMutableRawPointer, _ option: CURLoption, _ text: String) {
    isReady = sl_set_string(handle, option, text) == CURLE_OK && isReady
  }

  private func limit(_ handle: UnsafeMutableRawPointer, _ settings: HTTPSettings) {
    sl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout.wholeMilliseconds)
    sl_set_offset(handle, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(settings.uploadLimit ?? 0))
    sl_set_offset(handle, CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t(settings.downloadLimit ?? 0))
    // Small buffers keep a slow line even; large ones a fast line full.
    sl_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, settings.uploadLimit == nil ? 1 << 20 : 16 << 10)
    sl_set_long(handle, CURLOPT_BUFFERSIZE, settings.downloadLimit == nil ? 512 << 10 : 16 << 10)
  }

  private func logIn(_ handle: UnsafeMutableRawPointer, _ login: HTTPLogin) {
    var schemes = 0
    if login.schemes.contains(.basic) { schemes |= sl_auth_basic }
    if login.schemes.contains(.digest) { schemes |= sl_auth_digest }
    sl_set_long(handle, CURLOPT_HTTPAUTH, schemes)
    set(handle, CURLOPT_USERNAME, login.user)
    set(handle, CURLOPT_PASSWORD, login.password)
  }

  private func describeMethod(_ handle: UnsafeMutableRawPointer) {
    switch request.method {
    case "GET": break
    case "HEAD": sl_set_long(handle, CURLOPT_NOBODY, 1)
    default: set(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }
    guard let body = request.body else { return }
    sl_set_long(handle, CURLOPT_UPLOAD, 1)
    sl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count))
    sl_set_pointer(handle, CURLOPT_READDATA, Unmanaged.passUnretained(self).toOpaque())
    sl_set_pointer(handle, CURLOPT_SEEKDATA, Unmanaged.passUnretained(self).toOpaque())
    sl_set_transfer(handle, CURLOPT_READFUNCTION) { buffer, size, count, context in
      guard let buffer, let context else { return 0 }
      return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().send(into: buffer, upTo: size * count)
    }
    // libcurl goes back to the start when a kept connection turns out to be dead, or a login is asked for.
    sl_set_seek(handle) { context, offset, origin in
      guard let context, origin == SEEK_SET else { return Int32(CURL_SEEKFUNC_CANTSEEK) }
      Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().sent = Int(offset)
      return Int32(CURL_SEEKFUNC_OK)
    }
  }

  private func listHeaders(_ handle: UnsafeMutableRawPointer) {
    // Without "Expect: 100-continue", which costs a second where servers do not know it.
    for (name, value) in request.headers + [("Expect", "")] {
      let longer = curl_slist_append(headerList, value.isEmpty ? "\(name):" : "\(name): \(value)")
      guard longer != nil else { return isReady = false }
      headerList = longer
    }
    sl_set_list(handle, CURLOPT_HTTPHEADER, headerList)
  }

  private func receive(_ handle: UnsafeMutableRawPointer) {
    sl_set_pointer(handle, CURLOPT_HEADERDATA, Unmanaged.passUnretained(self).toOpaque())
    sl_set_pointer(handle, CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
    sl_set_transfer(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
      Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().take(headerLine: line)
      return size * count
    }
    sl_set_transfer(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().take(chunk) ? size * count : 0
    }
  }

  private func send(into buffer: UnsafeMutablePointer<CChar>, upTo room: Int) -> Int {
    guard let body = request.body else { return 0 }
    let count = min(room, body.count - sent)
    guard count > 0 else { return 0 }
    body.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(start: buffer, count: count)
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[sent..<sent + count]))
    }
    sent += count
    return count
  }

  private func take(headerLine line: String) {
    received += line.utf8.count
    if line.hasPrefix("HTTP/") {
      // Interim answers and refused logins come before the answer that counts.
      headers.removeAll()
      answer.removeAll()
      passed = 0
      hasWanted = false
      status = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    } else if let colon = line.firstIndex(of: ":"), headers.count < 200 {
      let value = line[line.index(after: colon)...].trimming { $0.isWhitespace }
      let name = line[..<colon].lowercased()
      headers.append((name, String(value)))
      if name == "content-length", request.method != "HEAD", let length = Int(value), length > 0 {
        answer.reserveCapacity(min(length, request.wanted?.count ?? request.largestAnswer))
      }
    }
  }

  /// `false` when the answer is longer than was allowed.
  private func take(_ chunk: UnsafeRawBufferPointer) -> Bool {
    received += chunk.count
    // The time that it took until now is no stall of what comes.
    if request.patience != nil, answer.isEmpty { pace = TransferPace(now: .now) }
    if let wanted = request.wanted, isWholeInstead { return take(chunk, of: wanted) }
    isTooLarge = answer.count + chunk.count > request.largestAnswer
    if !isTooLarge { answer.append(contentsOf: chunk) }
    return !isTooLarge
  }

  /// The whole resource comes, where a part of it was asked for.
  private var isWholeInstead: Bool {
    request.wanted != nil && status == 200 && !headers.contains { $0.name == "content-range" }
  }

  /// `false` when all that is wanted has come.
  private func take(_ chunk: UnsafeRawBufferPointer, of wanted: Range<Int>) -> Bool {
    let held = wanted.clamped(to: passed..<passed + chunk.count)
    answer.append(
      contentsOf: UnsafeRawBufferPointer(rebasing: chunk[held.lowerBound - passed..<held.upperBound - passed]))
    passed += chunk.count
    hasWanted = passed >= wanted.upperBound
    return !hasWanted
  }
}
