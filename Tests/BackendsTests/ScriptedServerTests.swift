import Glibc
import Storage
import TestKit
import Testing

@testable import Backends

/// What the other tests here stand on.
@Suite struct ScriptedServerTests {
  @Test func `servers that come and go at once all answer, each its own client`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          for round in 0..<100 {
            try await withServer { _ in
              .status(200, [:], "\(worker) \(round)")
            } _: { server in
              let request = HTTPRequest("GET", "http://127.0.0.1:\(server.port)/")
              let response = try await HTTPClient().send(request)
              #expect(String(decoding: response.body, as: UTF8.self) == "\(worker) \(round)")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a dead port is nobody else's while it is held, and refuses whoever connects`() async throws {
    let dead = try DeadPort()
    defer { withExtendedLifetime(dead) {} }
    let number = dead.number
    let taken = #expect(throws: DeadPort.NotBound.self) { try DeadPort(number) }
    #expect(taken?.code == EADDRINUSE)
    let error = await storeError { _ = try await HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:\(number)/")) }
    #expect(error?.message.hasPrefix("nothing answers at") == true)
  }
}
