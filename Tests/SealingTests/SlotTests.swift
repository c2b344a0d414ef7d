import TestKit
import Testing

@testable import Sealing

@Suite struct SlotTests {
  static let secrets: [SlotSecret] = [
    .passphrase(Array("correct horse".utf8)), .keyFile(Fixed.keyFile), .recoveryKey(Fixed.recoveryKey),
  ]

  @Test(arguments: secrets)
  func `A slot opens with its own secret and no other`(secret: SlotSecret) throws {
    let slot = try Samples.slot(secret)
    #expect(slot.count == KeySlot.length)
    let master = try KeySlot.open(slot, secret: secret, repository: Fixed.repository)
    #expect(master.bytes == Fixed.master.bytes)
    let others: [SlotSecret] = [
      .passphrase(Array("correct horsf".utf8)), .passphrase([]), .keyFile(Fixed.keyFile + [0]),
      .recoveryKey(Fixed.digest("other").bytes),
    ]
    for other in others {
      #expect(failure { _ = try KeySlot.open(slot, secret: other, repository: Fixed.repository) } == .wrongKey)
    }
    #expect(failure { _ = try KeySlot.open(slot, secret: secret, repository: Fixed.otherRepository) } == .damaged)
    let description = try KeySlot.describe(slot)
    #expect(description.createdAt == Fixed.time && description.repository == Fixed.repository)
    Fault.slots.met(5, "other secret or repository")
  }

  @Test func `Cost outside the limits is refused before any work, by both sides`() throws {
    let slot = try Samples.slot(.passphrase([1]))
    for (offset, value) in [(10, 14), (10, 21), (10, 255), (11, 0), (11, 17), (12, 0), (12, 5)] {
      var other = slot
      other[offset] = UInt8(value)
      #expect(
        failure { _ = try KeySlot.open(other, secret: .passphrase([1]), repository: Fixed.repository) } == .malformed)
    }
    for cost in [(14, 8, 1), (21, 8, 1), (63, 8, 1), (17, 0, 1), (17, 17, 1), (17, 8, 0), (17, 8, 5)] {
      let cost = SlotCost(logN: UInt8(cost.0), r: UInt8(cost.1), p: UInt8(cost.2))
      #expect(
        failure {
          _ = try KeySlot.seal(
            master: Fixed.master, secret: .passphrase([1]), repository: Fixed.repository, cost: cost, createdAt: 0,
            random: Fixed.stuckRandom)
        } == .malformed)
    }
    Fault.slots.met(14, "absurd cost")
  }

  /// Only `describe` is asked: what it takes would be derived.
  @Test func `Of all costs that a slot can ask for, only bearable ones are taken`() throws {
    let slot = try Samples.slot(.passphrase([1]))
    let some = [0, 1, 8, 14, 15, 16, 17, 20, 21, 31, 63, 64, 127, 128, 255] as [UInt8]
    let all = Campaign.isFull ? Array(UInt8.min ... .max) : some
    var cases = 0
    for logN in all {
      for r in all {
        for p in some {
          var other = slot
          other.replaceSubrange(10..<13, with: [logN, r, p])
          cases += 1
          guard let cost = (try? KeySlot.describe(other))?.cost else { continue }
          // scrypt needs 128 bytes times N times r: 2 GiB at the very most.
          try #require(cost.logN <= 20 && cost.logN >= 15 && (1...16).contains(cost.r) && (1...4).contains(cost.p))
        }
      }
    }
    #expect(cases >= 3000)
    Fault.slots.met(cases, "cost")
  }

  @Test func `A slot of a later version may have any length up to 64 KiB, and none may be longer`() throws {
    let slot = try Samples.slot(.keyFile(Fixed.keyFile))
    func later(_ length: Int) -> [UInt8] { Array(slot[..<8]) + [1] + [UInt8](repeating: 7, count: length - 9) }
    for length in [9, 176, 65_536] {
      #expect(failure { _ = try KeySlot.describe(later(length)) } == .unsupported)
    }
    #expect(failure { _ = try KeySlot.describe(later(65_537)) } == .malformed)
  }

  @Test func `Short key files and recovery keys of wrong length are refused`() {
    #expect(failure { _ = try Samples.slot(.keyFile([UInt8](repeating: 1, count: 31))) } == .malformed)
    #expect(failure { _ = try Samples.slot(.recoveryKey([1])) } == .malformed)
  }

  @Test func `A recovery key is read as people type it`() throws {
    let text = RecoveryKey.text(of: Fixed.recoveryKey)
    #expect(text.count == 56 + 13 && text.split(separator: "-").allSatisfy { $0.count == 4 })
    #expect(try RecoveryKey.parse(text) == Fixed.recoveryKey)
    let typed = text.lowercased().replacing("-", with: " ").replacing("o", with: "0").replacing("i", with: "1")
      .replacing("b", with: "8")
    #expect(try RecoveryKey.parse("\n" + typed + " ") == Fixed.recoveryKey)
    // With its length alone it is one with a slip, or something else.
    let slip = String(text.dropLast()) + (text.hasSuffix("A") ? "C" : "A")
    for (other, isSlip) in [
      (text, false), (slip, true), ("9\(text.dropFirst())", true), (text + "A", false), ("", false),
    ] {
      #expect(RecoveryKey.isMistyped(other) == isSlip, "\(other)")
    }
  }

  @Test func `Every mistyped character of a recovery key is noticed, and every swap of neighbours`() {
    let text = Array(RecoveryKey.text(of: Fixed.recoveryKey).replacing("-", with: ""))
    var accepted = 0
    for position in text.indices {
      for wrong in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" where wrong != text[position] {
        var other = text
        other[position] = wrong
        if failure({ _ = try RecoveryKey.parse(String(other)) }) == nil { accepted += 1 }
      }
      var other = text
      other.swapAt(position, (position + 1) % text.count)
      if other != text, failure({ _ = try RecoveryKey.parse(String(other)) }) == nil { accepted += 1 }
    }
    let short = #expect(throws: SealError.self) { _ = try RecoveryKey.parse("ABCD") }
    #expect(short?.message.hasPrefix("a recovery key has 56 characters") == true)
    // 24 bits of check: one in 16 million gets through; none of these 1,792 does.
    #expect(accepted == 0)
    for wrong in [
      "", "A", String(text.dropLast()), String(text) + "A", String(text) + "é", "9" + String(text.dropFirst()),
    ] {
      #expect(failure { _ = try RecoveryKey.parse(wrong) } == .malformed)
    }
  }
}
