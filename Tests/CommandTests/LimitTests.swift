import Operations
import Storage
import Testing

@testable import SealiftTool

/// How fast anything may go to targets and come from them: by the options, else by the configuration.
@Suite struct LimitTests {
  private func stores(_ configuration: String = "{}", upload: String? = nil, download: String? = nil) throws -> Stores {
    var options = GlobalOptions()
    options.limitUpload = upload
    options.limitDownload = download
    return try Stores(
      options, try Configuration(json: Array(configuration.utf8), file: "c.json"), Terminal(Terminal.Manner()))
  }

  private func rates(_ stores: Stores) -> [Int?] { [stores.upload?.bytesPerSecond, stores.download?.bytesPerSecond] }

  @Test func `each direction has its own limit, and an option goes before a key`() throws {
    #expect(try rates(stores()) == [nil, nil])
    #expect(try rates(stores(upload: "1KiB")) == [1024, nil])
    #expect(try rates(stores(download: "2KiB")) == [nil, 2048])
    let keys = #"{"limits": {"upload": "3KiB/s", "download": "4KiB/s"}}"#
    #expect(try rates(stores(keys)) == [3072, 4096])
    #expect(try rates(stores(keys, upload: "1KiB")) == [1024, 4096])
    #expect(try rates(stores(keys, download: "2KiB")) == [3072, 2048])
    #expect(try rates(stores(#"{"limits": {"download": "4KiB/s"}}"#)) == [nil, 4096])
  }

  @Test(arguments: ["--limit-upload", "--limit-download"])
  func `what is no rate is told by the name of its option`(_ option: String) throws {
    let error = #expect(throws: OperationError.self) {
      try stores(
        upload: option == "--limit-upload" ? "much" : nil, download: option == "--limit-download" ? "much" : nil)
    }
    #expect(error?.code == "badValue" && error?.message.contains(option) == true)
  }
}
