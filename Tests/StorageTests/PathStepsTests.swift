import Storage
import Testing

@Suite struct PathStepsTests {
  @Test func `a slash is one, whatever accent stands behind it`() {
    #expect(PathSteps.of("/a/\u{301}b//c/") == ["a", "\u{301}b", "c"])
    #expect(PathSteps.of("/").isEmpty && PathSteps.of("").isEmpty)
    #expect(PathSteps.folder(of: "/a/\u{301}b") == "/a")
    #expect(PathSteps.folder(of: "/\u{301}b") == "/" && PathSteps.folder(of: "b") == ".")
    #expect(PathSteps.isAbsolute("/\u{301}b") && !PathSteps.isAbsolute("b/") && !PathSteps.isAbsolute(""))
  }
}
