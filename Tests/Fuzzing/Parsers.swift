import Glibc

@testable import Backends
@testable import Sealing
@testable import Snapshots
@testable import Storage

/// Every parser of what a server, a repository or a file may send, by name. Each must refuse or read, never crash, hang or
/// take memory beyond its input's kind; what it reads and can write must come out as the same bytes.
let parsers: [String: @Sendable ([UInt8]) -> Void] = [
  "directory": { bytes in
    guard let kind = bytes.first.flatMap({ ObjectKind(rawValue: $0 % 7 + 1) }) else { return }
    _ = try? Directory(decoding: Array(bytes.dropFirst()), kind: kind, end: 1 << 20)
  },
  "manifest": { bytes in
    guard let body = try? ManifestBody(decoding: bytes), body.encode() != bytes else { return }
    // Extensions that are not known are passed over, so they are not written again.
    demand((try? ManifestBody(decoding: body.encode())) != nil, "a manifest that was read cannot be written")
  },
  "core": { bytes in
    guard let core = try? Core(decoding: bytes), core.encode() != bytes else { return }
    demand((try? Core(decoding: core.encode())) != nil, "a core that was read cannot be written")
  },
  "map": { bytes in
    if let leaf = try? MapLeaf(decoding: bytes) { demand(leaf.encode() == bytes, "a map leaf is written otherwise") }
    if let branch = try? MapBranch(decoding: bytes) {
      demand(branch.encode() == bytes, "a map branch is written otherwise")
    }
  },
  "packs": { bytes in
    if let leaf = try? PackTableLeaf(decoding: bytes) {
      demand(leaf.encode() == bytes, "a pack table is written otherwise")
    }
    if let entry = try? PackEntry(decoding: bytes) {
      demand(entry.encode() == bytes, "a pack entry is written otherwise")
    }
  },
  "records": { bytes in
    if let record = try? CondemnedRecord(decoding: bytes) {
      demand(record.encode() == bytes, "a record is written otherwise")
    }
    if let tombstone = try? Tombstone(decoding: bytes) {
      demand(tombstone.encode() == bytes, "a tombstone is written otherwise")
    }
    if let annotation = try? Annotation(decoding: bytes) {
      demand(annotation.encode() == bytes, "an annotation is written otherwise")
    }
  },
  "keyring": { bytes in
    if let keyring = try? Keyring(decoding: bytes) {
      demand(keyring.encode() == bytes, "a keyring is written otherwise")
    }
  },
  "repository": { bytes in
    if let file = try? RepositoryFile(decoding: bytes) {
      demand(file.encode() == bytes, "a repository file is written otherwise")
    }
    _ = try? RepositoryConfiguration(decoding: bytes)
    _ = try? KeySlot.describe(bytes)
    _ = try? Header.decode(bytes[...])
  },
  "facts": { bytes in
    guard let chain = ChainID(Array(repeating: 7, count: 16)) else { return }
    _ = try? VersionFacts.decode(bytes, of: chain)
  },
  "cells": { bytes in
    guard bytes.count > 2 else { return }
    let pageSize = 512 << Int(bytes[0] % 8), pages = Int(bytes[1] % 8) + 1
    guard pageSize * pages <= 1 << 18 else { return }
    let output = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize * pages, alignment: 16)
    defer { output.deallocate() }
    var decoder = CellFormDecoder()
    bytes[2...].withUnsafeBytes { form in
      try? decoder.decode(form, pages: pages, pageSize: pageSize, into: output)
    }
  },
  "zstd": { bytes in
    guard let first = bytes.first, let codec = Codec(rawValue: first % 5) else { return }
    let lengths = UnitLengths(uniform: 4096, count: Int(first / 5 % 16) + 1)
    let base = [UInt8](repeating: first, count: 8192)
    _ = base.withUnsafeBytes { prefix in
      try? FrameExpander().expand(
        Array(bytes.dropFirst()), codec: codec, lengths, prefix: codec.hasPrefix ? prefix : nil)
    }
  },
  "s3": { bytes in
    _ = try? S3ListingPage(bytes)
    _ = S3Refusal(bytes)
  },
  "webdav": { bytes in
    guard let answer = try? Multistatus(bytes), let address = try? WebAddress("http://localhost:8080/dav") else {
      return
    }
    _ = try? CollectionListing(answer, of: ["dav"], at: address)
  },
  "headers": { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    _ = HTTPTime.seconds(text)
    _ = ContentRange(text)
    _ = PercentEncoding.decode(text)
    _ = try? WebAddress(text)
    _ = ObjectName(text)
  },
  "database": { bytes in
    _ = DatabaseHeader(bytes)
  },
]

func demand(_ holds: Bool, _ what: String) {
  if !holds { fatalError(what) }
}

private let parser: @Sendable ([UInt8]) -> Void = {
  let name = getenv("SEALIFT_FUZZ").map { String(cString: $0) } ?? ""
  guard let parser = parsers[name] else {
    print(parsers.keys.sorted().joined(separator: "\n"))
    // libFuzzer ends the process without writing what is buffered.
    fflush(nil)
    exit(2)
  }
  return parser
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  parser(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
