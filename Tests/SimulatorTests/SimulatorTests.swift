import TestKit
import Testing

/// The simulator and the protocol's model, at the size that a build for tests has time for; `Scripts/test` runs more of both.
@Suite struct SimulatorTests {
  /// Runs a program that was built beside the tests.
  private func start(_ program: String, _ arguments: [String]) async throws -> ProgramEnd {
    let folder = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return try await Child.run(["\(folder.joined(separator: "/"))/\(program)"] + arguments)
  }

  @Test func `whatever was acknowledged restores, in every seeded world`() async throws {
    let ending = try await start("Simulator", ["--seeds", "24"])
    #expect(ending.isSuccess, "\(ending.output)")
    #expect(ending.lastLine.hasPrefix("0 broken"))
    // Worlds in which nothing happens would prove nothing.
    #expect(!ending.output.contains(" 0 versions acknowledged"))
    #expect(!ending.output.contains(" 0 crashes"))
    for what in ["versions forgotten", "pins", "late listings", "cut listings", "doubled listings", "marks of damage"] {
      #expect(!ending.output.contains(" 0 \(what)"))
    }
  }

  @Test func `the same seed is the same world, within a process and beyond it`() async throws {
    let twice = try await start("Simulator", ["--first", "100", "--seeds", "4", "--twice"])
    #expect(twice.isSuccess, "\(twice.output)")
    let again = try await start("Simulator", ["--first", "100", "--seeds", "4"])
    #expect(again.lastLine == twice.lastLine)
    let other = try await start("Simulator", ["--first", "101", "--seeds", "4"])
    #expect(other.lastLine != again.lastLine)
  }

  @Test func `a seed tells what happens in it`() async throws {
    let told = try await start("Simulator", ["--seed", "7", "--trace"])
    #expect(told.output.contains("push begins"))
    #expect(told.output.contains("acknowledged"))
  }

  @Test func `the model finds shortcuts and clears the protocol`() async throws {
    let names = ["S1", "S5", "S8", "S9", "P1", "M1", "M2", "M5", "M9", "N1", "N7", "N14", "Q2"]
    let ending = try await start("ProtocolModel", names)
    #expect(ending.isSuccess, "\(ending.output)")
    #expect(ending.lastLine.hasSuffix(" 0 wrong"))
    #expect(ending.output.split(separator: "\n").filter { $0.contains("LOSS in") }.count == 8)
  }

  @Test func `what was not searched to its end is not called safe`() async throws {
    let ending = try await start("ProtocolModel", ["--limit", "100", "S1"])
    #expect(!ending.isSuccess)
    #expect(ending.output.contains("CUT"))
  }
}

extension ProgramEnd {
  fileprivate var lastLine: String { output.split(separator: "\n").last.map(String.init) ?? "" }
}
