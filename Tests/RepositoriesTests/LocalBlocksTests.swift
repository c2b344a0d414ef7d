import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Files that others may write to while a repair looks for blocks in them.
@Suite struct LocalBlocksTests {
  private final class LiveFile: CompanionFile {
    let content: Locked<[UInt8]>
    let length: Int
    let mode: UInt32 = 0o600
    let modified: UInt64 = 0

    init(_ bytes: [UInt8]) {
      content = Locked(bytes)
      length = bytes.count
    }

    func read(_ range: Range<Int>) throws -> [UInt8] { content.withLock { Array($0[range]) } }
    func isSettled() -> Bool { true }
    func keptUnsettled() {}
  }

  private func source(_ path: String, _ file: LiveFile?) -> CompanionSource {
    CompanionSource(path: path, mode: 0o600, modified: 0, content: .file { file })
  }

  @Test func `blocks are found in any file, and none that has changed since`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let contents = [home.noise(3 * 65_536, seed: 1), [], home.noise(65_536 + 5, seed: 2)]
    let files = contents.map { LiveFile($0) }
    var sources = files.enumerated().map { source("file \($0.offset)", $0.element) }
    sources.insert(source("gone", nil), at: 1)
    let blocks = LocalBlocks(sources, keys: home.repository.keys, tables: scratch.path)
    let fingerprinter = Fingerprinter(home.repository.keys)
    for content in contents {
      for start in stride(from: 0, to: content.count, by: 65_536) {
        let block = Array(content[start..<min(start + 65_536, content.count)])
        let print = block.withUnsafeBytes { fingerprinter.fingerprint(.block, $0) }
        #expect(try blocks.block(print) == block)
      }
    }
    #expect(blocks.block(1, of: "file 2") == Array(contents[2].suffix(5)))
    #expect(blocks.block(2, of: "file 2") == nil && blocks.block(0, of: "file 1") == nil)
    #expect(blocks.block(0, of: "gone") == nil && blocks.block(0, of: "other") == nil)
    let first = Array(contents[0].prefix(65_536))
    let print = first.withUnsafeBytes { fingerprinter.fingerprint(.block, $0) }
    files[0].content.withLock { $0[9] ^= 1 }
    #expect(try blocks.block(print) == nil)
  }

  /// A file that was five bytes longer than its first block, and has grown since.
  @Test func `what begins a block is found where it stood, and only as it was`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let content = home.noise(65_536 + 9, seed: 3)
    let blocks = LocalBlocks(
      [source("file", LiveFile(content))], keys: home.repository.keys, tables: scratch.path)
    let fingerprinter = Fingerprinter(home.repository.keys)
    func fingerprint(_ bytes: ArraySlice<UInt8>) -> Fingerprint {
      Array(bytes).withUnsafeBytes { fingerprinter.fingerprint(.block, $0) }
    }
    let last = content[65_536..<65_536 + 5]
    #expect(blocks.beginning(5, ofBlock: 1, of: "file", fingerprint(last)) == Array(last))
    #expect(blocks.beginning(5, ofBlock: 0, of: "file", fingerprint(last)) == nil)
    #expect(blocks.beginning(4, ofBlock: 1, of: "file", fingerprint(last)) == nil)
    #expect(blocks.beginning(9, ofBlock: 1, of: "file", fingerprint(content[65_536...])) == nil, "a block by itself")
    #expect(blocks.beginning(5, ofBlock: 2, of: "file", fingerprint(last)) == nil)
    #expect(blocks.beginning(5, ofBlock: 1, of: "other", fingerprint(last)) == nil)
  }
}
