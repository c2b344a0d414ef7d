@testable import Backends
@testable import Sealing
@testable import Snapshots
@testable import Storage

typealias Parser = @Sendable ([UInt8]) -> Void

/// Every parser of what a server, a repository, a file or a person may give us, by name. Each must refuse or read, never
/// crash, hang or take memory beyond its input's kind; what it reads and can write must come out as the same bytes.
let parsers: [String: Parser] = [bodyParsers, serverParsers, sealedParsers, nameParsers, textParsers, machineParsers]
  .reduce(into: [:]) { all, some in all.merge(some) { _, _ in fatalError("two parsers have one name") } }

/// What lies inside a sealed object, behind its encryption: whoever holds the key can write anything there.
let bodyParsers: [String: Parser] = [
  // Kind, where the directory begins (4 bytes), directory.
  "directory": { bytes in
    guard bytes.count > 5, let kind = ObjectKind(rawValue: bytes[0] % 7 + 1) else { return }
    let end = bytes[1..<5].reduce(0) { $0 << 8 | Int($1) }
    _ = try? Directory(decoding: Array(bytes[5...]), kind: kind, end: end)
  },
  "manifest": { bytes in
    guard let body = try? ManifestBody(decoding: bytes) else { return }
    demand(body.encode() == bytes, "a manifest is written otherwise")
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
    if let kept = try? RecordContent.decode(bytes) {
      demand(RecordContent.encode(kept) == bytes, "kept records are written otherwise")
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
    guard let facts = try? VersionFacts.decode(bytes, of: Known.chain) else { return }
    demand(
      (try? VersionFacts.decode(VersionFacts.encode(facts), of: Known.chain)) == facts, "facts are written otherwise")
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
]

/// What a server answers, and the beginning of a file that is said to be a database.
let serverParsers: [String: Parser] = [
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
    // A date is read again as itself: its seconds are within the years that it may have.
    if let seconds = HTTPTime.seconds(text) {
      demand(HTTPTime.secondsOfISO(HTTPTime.iso(seconds)) == seconds, "a date")
    }
    _ = HTTPTime.secondsOfISO(text)
    let answer = HTTPResponse(
      status: 206, headers: [("retry-after", text), ("content-range", text)], body: Array(bytes.prefix(10)))
    if let wait = HTTPTime.retryAfter(answer, now: 1_795_176_000) { demand(wait >= .zero, "a wait below zero") }
    if let range = ContentRange(text) { demand(range.bytes.lowerBound >= 0, "a range before the beginning") }
    if let name = ObjectName("packs/a") { _ = try? answer.part(0..<10, of: name) }
    _ = PercentEncoding.decode(text)
    _ = PercentEncoding.decode(text, plusIsSpace: true)
    _ = try? WebAddress(text)
  },
  "database": { bytes in
    guard let header = DatabaseHeader(bytes) else {
      _ = ForeignFormat(beginningOf: bytes)
      return
    }
    _ = (header.pageSize, header.pageCount, header.isWAL, header.reservedBytes, header.isNoise)
    _ = (header.firstFreelistTrunk, header.freelistCount, header.encoding)
  },
  "property-list": { bytes in
    guard let list = PropertyList(binary: bytes) else { return }
    _ = (list["NSStoreType"]?.text, list["NSStoreModelVersionHashes"]?.entries.count, list.elements.count)
  },
]

func demand(_ holds: Bool, _ what: String) {
  if !holds { fatalError(what) }
}
