import COpenSSL
import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Backends

@Suite struct HTTPClientTests {
  private func get(_ server: ScriptedServer, _ path: String = "/x") -> HTTPRequest {
    HTTPRequest("GET", "http://127.0.0.1:\(server.port)\(path)")
  }

  private func client(patience: Duration) -> HTTPClient {
    var settings = HTTPSettings()
    settings.stallTimeout = patience
    return HTTPClient(settings)
  }

  @Test func `headers and bodies travel both ways`() async throws {
    let sent = [UInt8](repeating: 7, count: 3_000_000)
    try await withServer { request in
      .status(201, ["X-Told": "\(request.method) \(request.headers["x-asked"] ?? "")"], request.body)
    } _: { server in
      var request = HTTPRequest("PUT", "http://127.0.0.1:\(server.port)/a/../b?q=1")
      request.headers = [("X-Asked", "yes")]
      request.body = sent
      request.largestAnswer = 3_000_000
      let response = try await HTTPClient().send(request)
      #expect(response.status == 201)
      #expect(response.header("x-told") == "PUT yes")
      #expect(sameBytes(response.body, sent))
      #expect(server.requests.first?.target == "/a/../b?q=1")
      #expect(server.requests.first?.headers["expect"] == nil)
    }
  }

  /// A command that prints a secret would keep the connection open, and all that it starts.
  @Test func `what is started meanwhile gets no connection of ours`() async throws {
    try await withServer { _ in
      .status(200)
    } _: { server in
      let client = HTTPClient()
      _ = try await client.send(get(server))
      var kept: [Int32] = []
      for descriptor in Int32(3)..<4096 where Self.peerPort(of: descriptor) == server.port { kept.append(descriptor) }
      #expect(!kept.isEmpty && kept.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
      withExtendedLifetime(client) {}
    }
  }

  /// Its answer may be long in the making, and its connection may be gone without a word.
  @Test func `a server that is gone is found out in two minutes`() async throws {
    try await withServer { _ in
      .status(200)
    } _: { server in
      let client = HTTPClient()
      _ = try await client.send(get(server))
      var kept: [[Int32]] = []
      for descriptor in Int32(3)..<4096 where Self.peerPort(of: descriptor) == server.port {
        kept.append([TCP_KEEPIDLE, TCP_KEEPINTVL].map { Self.number(of: descriptor, $0) })
      }
      #expect(!kept.isEmpty && kept.allSatisfy { $0 == [30, 10] })
      withExtendedLifetime(client) {}
    }
  }

  private static func number(of descriptor: Int32, _ option: Int32) -> Int32 {
    var number: Int32 = -1
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, Int32(IPPROTO_TCP), option, &number, &length)
    return number
  }

  private static func peerPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return code == 0 && address.sin_family == sa_family_t(AF_INET) ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }

  @Test func `connections are used again, and no more requests are under way than allowed`() async throws {
    try await withServer { _ in
      var reply = ScriptedServer.Reply.status(200, [:], "ok")
      reply.silence = .milliseconds(2)
      return reply
    } _: { server in
      var settings = HTTPSettings()
      settings.concurrency = 3
      let client = HTTPClient(settings)
      let request = get(server)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<60 { group.addTask { try await client.send(request).status } }
        for try await status in group { #expect(status == 200) }
      }
      #expect(server.mostAtOnce == 3)
      #expect(server.connections <= 4)
    }
  }

  /// Each line is progress: it is libcurl that gives up (since 8.3, and in Debian's 7.88).
  @Test(arguments: [true, false]) func `headers that do not end are given up`(areInterim: Bool) async throws {
    let line = areInterim ? "HTTP/1.1 100 Continue\r\n\r\n" : "X-More: \(String(repeating: "x", count: 1000))\r\n"
    let lines = String(repeating: line, count: (2 << 20) / line.utf8.count)
    let reply = Array(((areInterim ? "" : "HTTP/1.1 200 OK\r\n") + lines).utf8)
    await withServer { _ in
      ScriptedServer.Reply(bytes: reply, closes: true)
    } _: { server in
      let error = await storeError { _ = try await HTTPClient().send(get(server)) }
      #expect(error?.message.contains("Too large response headers") == true)
    }
  }

  @Test func `nothing at the port is explained`() async throws {
    let dead = try DeadPort()
    defer { withExtendedLifetime(dead) {} }
    let port = dead.number
    let error = await storeError { _ = try await HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:\(port)/")) }
    #expect(error?.code == .unavailable)
    #expect(error?.message.hasPrefix("nothing answers at 127.0.0.1:\(port)") == true)
    #expect(error?.hint != nil)
    #expect(error?.retry == .later(after: nil))
  }

  @Test func `an answer over its bound is cut off while it comes`() async throws {
    await withServer { _ in
      .status(200, [:], [UInt8](repeating: 1, count: 50_000_000))
    } _: { server in
      var request = get(server)
      request.largestAnswer = 100_000
      let error = await storeError { [request] in _ = try await HTTPClient().send(request) }
      #expect(error?.code == .badAnswer)
      #expect(error?.retry == .never)
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this", StoreError.Code.unavailable),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .unavailable),
    ("HTTP/1.1 200", .badAnswer), ("", .unavailable), ("220 mail.example ESMTP\r\n", .badAnswer),
  ])
  func `a connection that is cut, or speaks something else, is an error`(
    _ answer: String, _ code: StoreError.Code
  ) async {
    await withServer { _ in
      ScriptedServer.Reply(bytes: Array(answer.utf8), closes: true)
    } _: { server in
      let error = await storeError { _ = try await HTTPClient().send(get(server)) }
      #expect(error?.code == code || (answer == "HTTP/1.1 200" && error?.code == .unavailable), "\(error as Any)")
    }
  }

  @Test func `a server that says nothing is given up`() async {
    await withServer { _ in
      var reply = ScriptedServer.Reply.status(200)
      reply.silence = .seconds(600)
      return reply
    } _: { server in
      let client = client(patience: .seconds(1))
      let start = ContinuousClock.now
      let error = await storeError { _ = try await client.send(get(server)) }
      #expect(error?.code == .unavailable)
      #expect(error?.message.contains("did not answer in time") == true)
      #expect(ContinuousClock.now - start < .seconds(300))
    }
  }

  /// libcurl takes a mebibyte of the body at once, and the kernel as much, seconds before a slow line has taken it. On a
  /// connection that another request has opened.
  @Test func `an upload goes on while its bytes leave the machine, however slowly`() async {
    // The kernel has the last byte seconds before the server; where that is all that counts, each try is given up.
    for _ in 0..<4 where await arrivesSlowly() { return }
    Issue.record("given up each time")
  }

  /// - Returns: false when the server was given up, as it is, rightly, when it has no turn for two seconds.
  private func arrivesSlowly() async -> Bool {
    await withServer(appetite: ScriptedServer.Appetite(bytes: 16_384, rest: .milliseconds(40))) { request in
      .status(200, [:], "\(request.body.count)")
    } _: { server in
      let client = client(patience: .seconds(2))
      var request = HTTPRequest("PUT", "http://127.0.0.1:\(server.port)/x")
      request.body = [UInt8](repeating: 7, count: 2_500_000)
      let error = await storeError { [request] in
        _ = try await client.send(get(server))
        let response = try await client.send(request)
        #expect(String(decoding: response.body, as: UTF8.self) == "2500000")
      }
      if error?.message.contains("did not answer in time") == true { return false }
      #expect(error == nil)
      #expect(server.connections == 1)
      return true
    }
  }

  @Test func `a server that takes nothing more is given up`() async {
    await withServer(appetite: ScriptedServer.Appetite(bytes: 4096, rest: .seconds(600))) { _ in
      .status(200)
    } _: { server in
      let client = client(patience: .seconds(1))
      var request = HTTPRequest("PUT", "http://127.0.0.1:\(server.port)/x")
      request.body = [UInt8](repeating: 7, count: 1_000_000)
      let error = await storeError { [request] in _ = try await client.send(request) }
      #expect(error?.message.contains("did not answer in time") == true)
    }
  }

  @Test func `a server that answers byte by byte is given up`() async {
    await withServer { _ in
      var reply = ScriptedServer.Reply.status(200, [:], [UInt8](repeating: 1, count: 100_000))
      reply.drip = .milliseconds(50)
      return reply
    } _: { server in
      let client = client(patience: .seconds(1))
      let error = await storeError { _ = try await client.send(get(server)) }
      #expect(error?.code == .unavailable)
      #expect(error?.message.contains("did not answer in time") == true)
    }
  }

  @Test func `a cancelled request ends at once, on the wire, in the queue or before`() async {
    await withServer { _ in
      var reply = ScriptedServer.Reply.status(200)
      reply.silence = .seconds(600)
      return reply
    } _: { server in
      var settings = HTTPSettings()
      settings.concurrency = 1
      // Cancelled, not given up: a thousand tests at once may each wait a minute for their turn.
      settings.stallTimeout = .seconds(600)
      let client = HTTPClient(settings)
      let request = get(server)
      let start = ContinuousClock.now
      let running = Task { try await client.send(request) }
      while server.requests.isEmpty { await Task.yield() }
      let waiting = Task { try await client.send(request) }
      let early = Task {
        while !Task.isCancelled { await Task.yield() }
        return try await client.send(request)
      }
      for task in [early, waiting, running] {
        task.cancel()
        let error = await storeError { _ = try await task.value }
        #expect(error?.code == .cancelled)
      }
      // Before the server says anything.
      #expect(ContinuousClock.now - start < .seconds(300))
      #expect(server.requests.count == 1)
    }
  }

  /// The command that cancels it is gone from the queue by then.
  @Test func `a request that was cancelled a moment before it is queued is never sent`() async {
    let loop = CurlLoop(HTTPSettings())
    let outcome = await Task {
      await withCheckedContinuation { (continuation: CheckedContinuation<CurlTransfer.Outcome, Never>) in
        withUnsafeCurrentTask { $0?.cancel() }
        let request = HTTPRequest("GET", "http://127.0.0.1:1/x")
        if !loop.add(CurlTransfer(loop.nextNumber(), request, continuation)) {
          continuation.resume(returning: .failure(.cancelled(request)))
        }
      }
    }.value
    loop.stop()
    #expect(throws: StoreError.self) { try outcome.get() }
    if case .failure(let error) = outcome { #expect(error.code == .cancelled) }
  }

  @Test func `a kept connection that died is replaced, and the body sent from its start`() async throws {
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    try await withServer { request in
      // Takes the second request and goes without a word: what a server does when it is restarted.
      request.number == 1 ? ScriptedServer.Reply(bytes: [], closes: true) : .status(200)
    } _: { server in
      let client = HTTPClient()
      _ = try await client.send(get(server))
      var put = HTTPRequest("PUT", get(server).url)
      put.body = body
      let response = try await client.send(put)
      #expect(response.status == 200)
      #expect(server.requests.map(\.connection) == [0, 0, 1])
      #expect(sameBytes(server.requests.last?.body ?? [], body))
    }
  }

  @Test func `TLS with a plain server, and an unknown authority, are told apart from other failures`() async {
    await withServer { _ in
      .status(200)
    } _: { server in
      let error = await storeError {
        _ = try await HTTPClient().send(HTTPRequest("GET", "https://127.0.0.1:\(server.port)/"))
      }
      #expect(error?.code == .tls)
      var settings = HTTPSettings()
      settings.caFile = "/nowhere/ca.pem"
      let client = HTTPClient(settings)
      let second = await storeError {
        _ = try await client.send(HTTPRequest("GET", "https://127.0.0.1:\(server.port)/"))
      }
      #expect(second?.code == .tls)
      #expect(second?.hint?.contains("caFile") == true)
      #expect(second?.retry == .never)
    }
    Fault.credentials.met(2, "TLS that is none")
  }

  @Test func `an upload limit is kept by each transfer`() async throws {
    try await withServer { _ in
      .status(200)
    } _: { server in
      var settings = HTTPSettings()
      settings.uploadLimit = 400_000
      var put = HTTPRequest("PUT", get(server).url)
      put.body = [UInt8](repeating: 1, count: 600_000)
      let start = ContinuousClock.now
      _ = try await HTTPClient(settings).send(put)
      let time = ContinuousClock.now - start
      #expect(time > .milliseconds(900), "\(time)")
    }
  }

  // The environment belongs to the whole process, so these have one of their own.
  @Test func `proxies are taken from the environment, and a netrc file is not read`() async {
    await #expect(processExitsWith: .success) { () async throws -> Void in
      let scratch = try Scratch()
      let netrc = Array("machine 127.0.0.1 login ali password geheim\ndefault login ali password geheim\n".utf8)
      guard FileManager.default.createFile(atPath: scratch.file(".netrc"), contents: Data(netrc)) else { exit(2) }
      setenv("HOME", scratch.path, 1)
      let proxy = ScriptedServer { _ in .status(200, [:], "from the proxy") }
      setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
      // What is meant for this machine is not shown to another, whether that is said here or not.
      unsetenv("no_proxy")
      let client = HTTPClient()
      let response = try await client.send(HTTPRequest("GET", "http://backup.example/x"))
      guard response.body == Array("from the proxy".utf8) else { exit(3) }
      guard proxy.requests.map(\.target) == ["http://backup.example/x"] else { exit(4) }
      let direct = ScriptedServer { _ in .status(401, ["WWW-Authenticate": "Basic realm=\"x\""]) }
      guard try await client.send(HTTPRequest("GET", "http://127.0.0.1:\(direct.port)/y")).status == 401 else {
        exit(5)
      }
      guard proxy.requests.count == 1, direct.requests.count == 1 else { exit(6) }
      guard !(proxy.requests + direct.requests).contains(where: { $0.headers["authorization"] != nil }) else { exit(7) }
    }
    Fault.credentials.met(2, "proxy or netrc file")
  }

  /// Over https its answer is none of the server's: libcurl takes it for a connection that failed.
  @Test func `a proxy that opens no tunnel is told as such, and not asked again`() async {
    await #expect(processExitsWith: .success) { () async throws -> Void in
      unsetenv("no_proxy")
      for (status, words) in [(407, "asks for a user"), (403, "lets nothing through to backup.example")] {
        let proxy = ScriptedServer { _ in .status(status) }
        setenv("https_proxy", "http://127.0.0.1:\(proxy.port)", 1)
        let error = await storeError {
          _ = try await HTTPClient().send(HTTPRequest("GET", "https://backup.example/x"))
        }
        guard proxy.requests.map(\.method) == ["CONNECT"] else { exit(2) }
        guard error?.code == .unavailable, error?.retry == .never else { exit(3) }
        guard error?.message.contains(words) == true, error?.hint != nil else { exit(4) }
      }
    }
  }

  /// libcurl says no more of it than that nothing answers.
  @Test func `a proxy that is not there is told beside the target, and without its password`() async {
    await #expect(processExitsWith: .success) { () async throws -> Void in
      unsetenv("no_proxy")
      let dead = try DeadPort()
      defer { withExtendedLifetime(dead) {} }
      let port = dead.number
      setenv("https_proxy", "http://ali:geheim@127.0.0.1:\(port)", 1)
      let error = await storeError {
        _ = try await HTTPClient().send(HTTPRequest("GET", "https://backup.example/x"))
      }
      guard error?.code == .unavailable, error?.retry == .later(after: nil) else { exit(2) }
      guard error?.hint?.contains("or of the proxy that the environment names") == true else { exit(3) }
      guard error?.description.contains("geheim") == false else { exit(4) }
      // No proxy is asked for this machine.
      let own = await storeError {
        _ = try await HTTPClient().send(HTTPRequest("GET", "https://127.0.0.1:\(port)/x"))
      }
      guard own?.code == .unavailable, own?.hint?.contains("proxy") == false else { exit(5) }
    }
  }

  /// Its clean-up would run beside the thread of a client that just ends.
  @Test func `OpenSSL under libcurl stays until the process is gone`() async {
    await #expect(processExitsWith: .success) {
      _ = HTTPClient()
      OPENSSL_atexit { _exit(3) }
      exit(0)
    }
  }

  @Test func `times in answers are understood, and nothing else`() {
    #expect(HTTPTime.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPTime.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPTime.seconds("Tue, 29 Feb 2028 23:59:59 GMT") == 1_835_481_599)
    for wrong in ["", "tomorrow", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 25:00:00 GMT", "06-11-1994"] {
      #expect(HTTPTime.seconds(wrong) == nil)
    }
    func retryAfter(_ value: String) -> Duration? {
      HTTPTime.retryAfter(
        HTTPResponse(status: 503, headers: [("retry-after", value)], body: []), now: 784_111_777 - 90)
    }
    #expect(retryAfter("7") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT") == .seconds(90))
    #expect(retryAfter("Sun, 06 Nov 1994 08:00:00 GMT") == .zero)
    // This machine's clock may be wrong, the server's own is what it means.
    let dated = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]
    #expect(
      HTTPTime.retryAfter(HTTPResponse(status: 503, headers: dated, body: []), now: 784_111_777 - 600) == .seconds(30))
    #expect(retryAfter("soon") == nil)
    #expect(retryAfter("-3") == nil)
    #expect(retryAfter("99999999999999") == .seconds(1_000_000))
  }
}
