import TestKit
import Testing

/// Every promise on real servers. They run when `SEALIFT_TEST_TARGETS` names the servers that `Scripts/test`
/// started, and then none of them may be missing.
@Suite(.enabled(if: !LiveTarget.all.isEmpty)) struct LiveTargetTests {
  @Test(arguments: ["ceph", "swift", "apache-basic", "apache-digest", "apache-tls", "lighttpd", "nginx"])
  func `the server is there`(_ name: String) {
    #expect(LiveTarget.all.contains { $0.name == name })
  }
}
