import Glibc
import Storage

/// An HTTP server on loopback that says what a test tells it to: for all that real servers will not do on demand.
final class ScriptedServer: Sendable {
  struct Request: Sendable {
    var method: String
    /// Path and query, as they came.
    var target: String
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]
    /// 0 for the first one.
    var number: Int
    /// 0 for those of the first connection.
    var connection: Int
  }

  struct Reply: Sendable {
    var bytes: [UInt8]
    /// Close the connection after these bytes, whatever they promised.
    var closes = false
    /// Say nothing for so long first.
    var silence = Duration.zero
    /// Wait so long after every byte but the first hundred, where the head is.
    var drip = Duration.zero

    static func status(_ code: Int, _ headers: [String: String] = [:], _ body: String = "") -> Reply {
      .status(code, headers, Array(body.utf8))
    }

    static func status(_ code: Int, _ headers: [String: String], _ body: [UInt8]) -> Reply {
      var head = "HTTP/1.1 \(code) Status\r\n"
      for (name, value) in headers { head += "\(name): \(value)\r\n" }
      if headers["Content-Length"] == nil, code != 204 { head += "Content-Length: \(body.count)\r\n" }
      return Reply(bytes: Array("\(head)\r\n".utf8) + body)
    }
  }

  /// How a server takes what it is sent: so much at a time, with a rest after it, and hardly anything ahead of that.
  struct Appetite {
    var bytes: Int
    var rest: Duration

    static let all = Appetite(bytes: 65_536, rest: .zero)
  }

  private struct State {
    var requests: [Request] = []
    var connections = 0
    var open = 0
    var mostOpen = 0
  }

  private let listener: Int32
  private let state = Locked(State())
  private let answer: @Sendable (Request) -> Reply
  private let appetite: Appetite
  let port: Int

  init(
    appetite: Appetite = .all, _ answer: @escaping @Sendable (Request) -> Reply
  ) {
    self.answer = answer
    self.appetite = appetite
    // A child that another test starts must not inherit it, nor a connection: it would never end.
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    if appetite.rest > .zero {
      // Every connection has it from the listener.
      var room = Int32(appetite.bytes)
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }
    port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        precondition(bind(listener, pointer, length) == 0 && listen(listener, 64) == 0)
        getsockname(listener, pointer, &length)
      }
      return Int(UInt16(bigEndian: pointer.pointee.sin_port))
    }
    // The thread that waits must not keep the server alive.
    Self.detach { [weak self] in
      while let connection = Self.connection(to: listener) {
        guard let self else { close(connection); break }
        Self.detach { self.serve(connection) }
      }
      close(listener)
    }
  }

  /// Ends the server; connections that are open stay until their clients leave.
  func stop() {
    // From here on the number may be another's: the thread that waits closes it.
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// The next client; nil once the server was stopped.
  private static func connection(to listener: Int32) -> Int32? {
    while true {
      let connection = accept(listener, nil, nil)
      if connection >= 0 { return connection }
      // A client that left again, a signal, or a moment in which other tests hold all descriptors: no end.
      guard [EINTR, ECONNABORTED, EMFILE, ENFILE].contains(errno) else { return nil }
      usleep(1_000)
    }
  }

  var requests: [Request] { state.withLock { $0.requests } }
  var connections: Int { state.withLock { $0.connections } }
  /// How many requests were being answered at once, at most.
  var mostAtOnce: Int { state.withLock { $0.mostOpen } }

  private func serve(_ connection: Int32) {
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    defer {
      // Told to the client even where a child of another test has it open.
      shutdown(connection, Int32(SHUT_RDWR))
      close(connection)
    }
    var one: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    let number = state.withLock { state in
      state.connections += 1
      return state.connections - 1
    }
    var buffered: [UInt8] = []
    while var request = read(from: connection, &buffered) {
      request.connection = number
      let taken = request
      let numbered = state.withLock { state in
        var request = taken
        request.number = state.requests.count
        state.requests.append(request)
        state.open += 1
        state.mostOpen = max(state.mostOpen, state.open)
        return request
      }
      let reply = answer(numbered)
      if reply.silence > .zero { usleep(UInt32(reply.silence / .microseconds(1))) }
      state.withLock { $0.open -= 1 }
      var sent = 0
      while sent < reply.bytes.count {
        let count = reply.bytes.withUnsafeBytes { bytes in
          let left = reply.drip == .zero ? bytes.count - sent : sent == 0 ? 100 : 1
          return send(connection, bytes.baseAddress! + sent, left, Int32(MSG_NOSIGNAL))
        }
        if count <= 0 { return }
        sent += count
        if reply.drip > .zero { usleep(UInt32(reply.drip / .microseconds(1))) }
      }
      if reply.closes { return }
    }
  }

  private func read(from connection: Int32, _ buffered: inout [UInt8]) -> Request? {
    func more() -> Bool {
      var chunk = [UInt8](repeating: 0, count: appetite.bytes)
      let count = recv(connection, &chunk, chunk.count, 0)
      if count > 0 { buffered += chunk[..<count] }
      if appetite.rest > .zero { usleep(UInt32(appetite.rest / .microseconds(1))) }
      return count > 0
    }
    let end = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    while headEnd == nil {
      headEnd = buffered.firstRange(of: end)?.upperBound
      if headEnd == nil, !more() { return nil }
      // Somebody who speaks TLS gets what plain servers say to that.
      if buffered.first == 0x16 {
        send(connection, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, Int32(MSG_NOSIGNAL))
        return nil
      }
    }
    let lines = String(decoding: buffered[..<headEnd!], as: UTF8.self).split(separator: "\r\n")
    let words = lines[0].split(separator: " ")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let colon = line.firstIndex(of: ":")!
      headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    while buffered.count < headEnd! + length { if !more() { return nil } }
    let body = Array(buffered[headEnd!..<headEnd! + length])
    buffered.removeFirst(headEnd! + length)
    return Request(
      method: String(words[0]), target: String(words[1]), headers: headers, body: body, number: 0, connection: 0)
  }

  private static func detach(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { context in
        Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(Box(body)).toOpaque())
    pthread_detach(thread)
  }
}

/// Runs a test beside such a server and stops it afterwards.
func withServer<Answer>(
  appetite: ScriptedServer.Appetite = .all,
  _ answer: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply,
  _ body: (ScriptedServer) async throws -> Answer
) async rethrows -> Answer {
  let server = ScriptedServer(appetite: appetite, answer)
  defer { server.stop() }
  return try await body(server)
}

/// The error that `work` ends in.
func storeError(_ work: () async throws -> Void) async -> StoreError? {
  do { try await work() } catch { return error as? StoreError }
  return nil
}
