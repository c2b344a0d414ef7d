import Testing

@testable import Operations
@testable import Repositories

/// What this machine noted of its bases may come back from a disk as anything. Bases cost bytes and no more, so figures
/// that no push wrote are no figures.
@Suite struct SpoiltAccountTests {
  private func record(_ change: (String, String) = ("", "")) -> [UInt8] {
    let json = """
      {"pageSize":4096,"method":"vacuum","anchor":{"length":8192,"cost":4096,"decoded":8192},"middle":{"length":8192,\
      "cost":100,"decoded":9000},"firstMiddleCost":90,"excessOfMiddles":10,"firstLeafCost":50,"excessOfLeaves":9,\
      "needs":{"decoded":9100,"stored":4300,"whole":4096}}
      """
    return Array((change.0.isEmpty ? json : json.replacing(change.0, with: change.1)).utf8)
  }

  @Test func `a record as it was written is read`() {
    #expect(BaseRecord(json: record())?.level(for: 8192) == .leaf)
    #expect(BaseRecord(json: record())?.needs?.stored == 4300)
  }

  @Test func `so is one of a program that did not note what versions need`() {
    let older = record((#","needs":{"decoded":9100,"stored":4300,"whole":4096}"#, ""))
    #expect(BaseRecord(json: older)?.needs == nil)
    #expect(BaseRecord(json: older)?.isLackedElsewhere == nil)
    #expect(BaseRecord(json: older)?.excessOfSmallLeaves == nil)
    #expect(BaseRecord(json: older)?.level(for: 8192) == .leaf)
  }

  @Test(arguments: [
    ("\"decoded\":8192", "\"decoded\":\(Int.max)"), ("\"decoded\":9000", "\"decoded\":\(Int.max)"),
    ("\"length\":8192,\"cost\":100", "\"length\":\(Int.min),\"cost\":100"), ("\"cost\":4096", "\"cost\":-1"),
    ("\"firstLeafCost\":50", "\"firstLeafCost\":\(Int.min)"), ("\"excessOfLeaves\":9", "\"excessOfLeaves\":\(Int.max)"),
    ("\"excessOfMiddles\":10", "\"excessOfMiddles\":-1"), ("\"firstMiddleCost\":90", "\"firstMiddleCost\":\(Int.min)"),
    ("\"pageSize\":4096", "\"pageSize\":-4096"), ("\"stored\":4300", "\"stored\":\(Int.max)"),
    ("\"whole\":4096", "\"whole\":-1"), ("\"decoded\":9100", "\"decoded\":\(Int.min)"),
    ("\"excessOfLeaves\":9", "\"excessOfLeaves\":9,\"excessOfSmallLeaves\":-1"),
    ("\"firstLeafCost\":50", "\"firstLeafCost\":50,\"dearestLeafCost\":\(Int.max)"),
  ])
  func `a record with impossible figures is none`(figure: String, wrong: String) {
    #expect(BaseRecord(json: record((figure, wrong))) == nil)
  }

  @Test func `a middle version that was not kept is followed by another one`() {
    let base = BaseRecord.Base(length: 8192, cost: 100, decoded: 9000)
    func after(isKept: Bool) -> BaseRecord? {
      BaseRecord.after(
        BaseRecord(json: record()), .middle, base, needs: nil, isKept: isKept, pageSize: 4096, method: "vacuum")
    }
    #expect(after(isKept: true)?.level(for: 8192) == .leaf)
    #expect(after(isKept: false)?.level(for: 8192) == .middle)
  }

  private static let name = String(repeating: "c4", count: 16)

  @Test func `the accounts of companions are taken one by one`() {
    func accounts(_ name: String, _ figures: String) -> [String: CompanionBases.Account] {
      CompanionBases.accounts(
        json: Array(#"{"\#(Self.name)":{"length":8192,"whole":4096,"excess":-20},"\#(name)":{\#(figures)}}"#.utf8))
    }
    let other = String(repeating: "ab", count: 16)
    let sound = #""length":8192,"whole":4096,"firstDelta":100,"excess":20"#
    #expect(accounts(other, sound).count == 2)
    for wrong in [
      sound.replacing("8192", with: "-1"), sound.replacing("8192", with: "\(1 << 40)"),
      sound.replacing("4096", with: "\(Int.max)"), sound.replacing(":100", with: ":\(Int.min)"),
      sound.replacing(":20", with: ":\(Int.min)"),
    ] {
      #expect(Array(accounts(other, wrong).keys) == [Self.name], "\(wrong)")
    }
    // Files of these names are read and removed.
    for wrong in ["../../../srv/app.db", "record.json", "AB\(other.dropFirst(2))", "\(other).new", ""] {
      #expect(Array(accounts(wrong, sound).keys) == [Self.name], "\(wrong)")
    }
  }
}
