import Storage
import TestKit
import Testing

@Suite struct ObjectNameTests {
  @Test(arguments: ["a", "packs/0a/f.b_c-1", String(repeating: "x", count: 200), "a..b", "1"])
  func `these are names`(_ text: String) { #expect(ObjectName(text)?.text == text) }

  @Test(arguments: [
    "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", ".hidden", "a/.b", "A", "ä", "a b", "a%2fb", "a\\b",
    "a\u{0}", "a\n", "a?", "a#", String(repeating: "x", count: 201), String(repeating: "x/", count: 450) + "x",
  ])
  func `these are none`(_ text: String) {
    #expect(ObjectName(text) == nil)
    Fault.hostileNames.met("name of an object")
  }

  @Test func `the last component and the order are those of bytes`() {
    #expect(ObjectName("a/b/c")?.lastComponent == "c")
    #expect(ObjectName("c")?.lastComponent == "c")
    #expect(
      ["a_", "a/b", "a-", "a.", "a0"].compactMap(ObjectName.init).sorted().map(\.text) == [
        "a-", "a.", "a/b", "a0", "a_",
      ])
  }
}
