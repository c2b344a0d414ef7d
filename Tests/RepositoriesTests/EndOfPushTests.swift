import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories

/// A push that fails or is interrupted ends at once, and when it has ended nothing of it runs any more.
@Suite(.timeLimit(.minutes(15))) struct EndOfPushTests {
  private actor Traffic {
    private(set) var started = 0
    private(set) var running = 0
    func begin() -> Int {
      started += 1
      running += 1
      return started
    }
    func end() { running -= 1 }
  }

  @Test func `packs of a push that was cut are not sent again`() async throws {
    let home = try await Home()
    let image = home.noise(512 * 4096, seed: 9)
    let cut = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { throw StoreError(.unavailable, "the line is cut") }
      })
    await #expect(throws: (any Error).self) { _ = try await home.push(image, at: cut) }
    let sent = Set(home.packs())
    #expect(!sent.isEmpty)
    _ = try await home.push(image)
    #expect(Set(home.packs()) == sent)
  }

  @Test func `an interrupted push stops its uploads and does not wait for them`() async throws {
    let home = try await Home()
    let traffic = Traffic()
    let store = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("packs/") else { return }
        _ = await traffic.begin()
        do { try await Task.sleep(for: .seconds(600)) } catch {
          await traffic.end()
          throw StoreError(.cancelled, "cancelled")
        }
        await traffic.end()
      })
    let image = home.image(pages: 7000, seed: 1)
    let push = Task { try await home.push(image, at: store) }
    // Two uploads are under way, and the push has to wait for one of them before it can begin another.
    while await traffic.started < 2 { try await Task.sleep(for: .milliseconds(10)) }
    try await Task.sleep(for: .seconds(1))
    let start = ContinuousClock.now
    push.cancel()
    await #expect(throws: (any Error).self) { try await push.value }
    // Not after the uploads, which take ten minutes; a thousand tests at once may each wait a minute for their turn.
    #expect(ContinuousClock.now - start < .seconds(300))
    #expect(await traffic.running == 0)
  }

  @Test func `when one upload fails the others have ended before the push has`() async throws {
    let home = try await Home()
    let traffic = Traffic()
    let store = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("packs/") else { return }
        let number = await traffic.begin()
        // The first fails while the second is on its way; that one takes its time to stop.
        if number == 1 {
          while await traffic.started < 2 { await pause(.milliseconds(1)) }
          await traffic.end()
          throw StoreError(.unavailable, "the connection was cut")
        }
        await pause(.milliseconds(500))
        await traffic.end()
      })
    let image = home.image(pages: 5000, seed: 2)
    await #expect(throws: StoreError.self) { try await home.push(image, at: store) }
    #expect(await traffic.started >= 2)
    #expect(await traffic.running == 0)
  }
}

/// Cannot be cancelled, and leaves the thread to others.
private func pause(_ duration: Duration) async { await Task { try? await Task.sleep(for: duration) }.value }
