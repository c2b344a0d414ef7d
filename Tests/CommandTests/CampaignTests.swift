import TestKit
import Testing

// The campaigns of Scripts/campaigns, at the size that CI has time for. They take minutes and need strace, clang, servers:
// Scripts/test says so by SEALIFT_CAMPAIGNS. The two suites run beside each other, each one campaign after the other.

/// What takes the processor.
@Suite(.serialized, .enabled(if: Environment.value("SEALIFT_CAMPAIGNS") != nil)) struct CampaignTests {
  @Test func `killed at any call, an acknowledged version restores and nothing is torn`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign(
      "kill-points", "--push", "80", "--restore", "40", "--in-place", "16", "--others", "6", "--targets", targets,
      "--names", "ceph", "--network", "2")
  }

  @Test func `whatever call fails, nothing is acknowledged that is not there, and nothing is left behind`() async throws
  {
    try await campaign("errors", "--cases", "8")
  }

  @Test func `when the power goes, what was acknowledged lasts, and nothing is torn`() async throws {
    let stories = ["first push", "restore", "restore --live, rollback journal", "key remove", "state"]
    try await campaign("power", ["--schedules", "4"] + stories.flatMap { ["--only", $0] })
  }

  @Test func `without a single fsync, lost power is noticed`() async throws {
    try await campaign("power", "--schedules", "4", "--only", "push", "--only", "restore", "--without-fsync")
  }

  @Test func `a C library without memory makes an error, no crash`() async throws {
    let commands = ["push", "restore", "list", "check", "drill"].flatMap { ["--command", $0] }
    try await campaign("memory", ["--cases", "3"] + commands)
    // Of those that write into a database.
    try await campaign("memory", "--cases", "3", "--only", "libsqlite3", "--command", "restore --live")
  }

  @Test func `every version comes back, whatever was lost, spoilt or forgotten between pushes`() async throws {
    try await campaign(
      "versions", "--versions", "8", "--kinds", "oltp,mail,blobs", "--jobs", "2", "--other", "some", "--seed", "3")
  }

  @Test func `each object harmed is named, and what is called whole comes back`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign("objects", "--targets", targets, "--cases", "8")
  }

  @Test func `databases beyond 1 and 4 GiB come back`() async throws {
    try await campaign("large")
  }
}

/// What mostly waits: for servers, for retries, for another user.
@Suite(.serialized, .enabled(if: Environment.value("SEALIFT_CAMPAIGNS") != nil)) struct WaitingCampaignTests {
  @Test func `whatever the network does to a request, what comes back is right or refused`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    func stories(_ names: String...) -> [String] { names.flatMap { ["--only", $0] } }
    async let others: Void = campaign(
      "wire",
      ["--targets", targets, "--names", "ceph", "--cuts", "6"]
        + stories("cuts", "lost", "again", "statuses", "bodies", "keeping", "expired"))
    try await campaign(
      "wire",
      ["--targets", targets, "--names", "apache-basic", "--cuts", "4"]
        + stories("cuts", "lost", "again", "ranges"))
    try await others
  }

  @Test func `what speaks with servers without memory makes an error, no crash`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign(
      "memory", "--targets", targets, "--names", "ceph", "--only", "libcurl", "--only", "libexpat", "--cases", "3")
  }

  @Test func `more packs than anybody has are listed, and nothing of them is deleted`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign("listings", "--targets", targets, "--keys", "20000")
  }

  @Test func `a snapshot is one committed state, whatever writers do meanwhile`() async throws {
    try await campaign("writers", "--snapshots", "56")
  }

  @Test func `no plaintext is where none may be`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign("canary", "--targets", targets, "--cores", "12")
  }

  @Test func `clocks two hours wrong lose nothing, and say so`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign("clocks", "--targets", targets, "--cases", "3")
  }

  @Test func `nothing goes through what another user plants`() async throws {
    try await campaign("links", "--seconds", "3")
  }

  @Test func `nothing is ever wider than its owner, whatever the umask`() async throws {
    try await campaign("modes")
  }

  @Test func `a live restore writes nowhere that locks cannot be trusted`() async throws {
    let targets = try #require(Environment.value("SEALIFT_TEST_TARGETS"))
    try await campaign("mounts", "--targets", targets)
  }
}

private func campaign(_ name: String, _ arguments: String...) async throws { try await campaign(name, arguments) }

private func campaign(_ name: String, _ arguments: [String]) async throws {
  let python = Environment.value("SEALIFT_PYTHON") ?? "/usr/bin/python3"
  let binary = try #require(Environment.value("SEALIFT_BINARY"), "Scripts/test names the program in SEALIFT_BINARY")
  let result = try await Child.run(
    [python, "\(SourceTree.root)/Scripts/campaigns/\(name)", "--binary", binary] + arguments)
  #expect(result.isSuccess, "\(result.error)")
  #expect(!result.output.isEmpty)
  // Said aloud, so that the run's log shows what was asserted over how much.
  print(result.output, terminator: "")
}
