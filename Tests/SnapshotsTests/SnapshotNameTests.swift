import Snapshots
import Testing

@Suite struct SnapshotNameTests {
  @Test(arguments: [
    (Int64(0), "app-19700101T000000Z.sqlite"), (951_782_400_000, "app-20000229T000000Z.sqlite"),
    (1_795_245_780_999, "app-20261121T072300Z.sqlite"), (-1, "app-19691231T235959Z.sqlite"),
    (253_402_300_799_000, "app-99991231T235959Z.sqlite"),
  ])
  func `names carry the time in UTC`(_ milliseconds: Int64, _ name: String) {
    #expect(snapshotFileName(database: "app", takenAt: milliseconds) == name)
  }
}
