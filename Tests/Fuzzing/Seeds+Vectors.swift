import FoundationEssentials

@testable import Sealing

/// Seeds from the vectors of the format: the objects as they are, and what lies inside them, unsealed.
struct VectorSeeds: Sendable {
  /// What a sealed object holds.
  private struct Opened: Sendable {
    let kind: ObjectKind
    /// As it was sealed, with its padding.
    let directory: [UInt8]
    let frames: [FrameRecord]
    /// One for each frame, compressed.
    let payloads: [[UInt8]]
    let meta: [UInt8]
  }

  private static let longest = 16 << 10

  /// Everything in the files, each object by itself.
  private let objects: [[UInt8]]
  private let opened: [Opened]

  /// - Parameter folder: of the vectors.
  init(_ folder: String) {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".txt") }
    objects = names.sorted().flatMap { name -> [[UInt8]] in
      guard let content = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return [] }
      // Fields, then one paragraph of hexadecimal lines for each object.
      let parts = String(decoding: content, as: UTF8.self).split(separator: "\n\n").dropFirst()
      return parts.compactMap { Hex.decode($0.split(separator: "\n").joined()) }.filter { $0.count <= Self.longest }
    }
    opened = objects.compactMap { try? Self.open($0) }
  }

  func of(_ parser: String) -> [[UInt8]] {
    switch parser {
    case "object": objects
    case "slot": objects.filter { $0.count < Limits.objectMinimum }
    case "repository": objects.filter { $0.count < Limits.objectMinimum } + metas(.configuration)
    case "directory": opened.map { [$0.kind.rawValue - 1] + bigEndian(end(of: $0)) + $0.directory }
    case "forged": opened.map(forged)
    case "manifest": metas(.manifest)
    case "core": metas(.manifest).compactMap { try? ManifestBody(decoding: $0).core }
    case "records": metas(.condemned) + metas(.tombstone) + metas(.annotation)
    case "keyring": [Known.keyring.encode()]
    case "map", "packs": opened.flatMap { nodes(in: $0) } + [packEntry].filter { _ in parser == "packs" }
    case "facts": [facts]
    case "local": [local].compactMap { $0 }
    case "cells": opened.flatMap { cells(in: $0) }
    case "zstd": opened.flatMap { object in zip(object.frames, object.payloads).map { [$0.codec.rawValue] + $1 } }
    default: []
    }
  }

  private static func open(_ bytes: [UInt8]) throws -> Opened {
    let (header, _) = try Header.decode(bytes[...])
    let object = try OpenedObject.open(bytes, kind: header.kind, name: nil, keys: Known.keys)
    let keys = ObjectKeys(header: header, kindKey: try Known.keys.kindKey(header.kind, epoch: header.epoch))
    let end = bytes.count - 4
    let sealed = bytes[(end - bytes[end...].reduce(0) { $0 << 8 | Int($1) })..<end]
    let directory = try keys.cipher().open(
      sealed, nonce: keys.nonce(ObjectKeys.directoryIndex, final: true),
      additional: ObjectKeys.directoryAdditionalData(plaintextLength: sealed.count - AuthenticatedCipher.tagLength))
    let payloads = try object.encodedFrames(with: FrameDecoder(keys: Known.keys)).map(\.payload)
    return Opened(
      kind: header.kind, directory: directory ?? [], frames: object.directory.frames, payloads: payloads,
      meta: object.directory.meta)
  }

  private func metas(_ kind: ObjectKind) -> [[UInt8]] { opened.filter { $0.kind == kind }.map(\.meta) }

  private func end(of object: Opened) -> Int {
    Header.length + object.frames.reduce(0) { $0 + Int($1.sealedLength) }
  }

  private func bigEndian(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// As `ForgedObject` reads it; it makes the padding itself.
  private func forged(_ object: Opened) -> [UInt8] {
    let used = object.directory.count - object.directory.reversed().prefix { $0 == 0 }.count
    let length = min(object.directory.count, used + 8)
    let tag = [UInt8](repeating: 0, count: AuthenticatedCipher.tagLength)
    return [object.kind.rawValue - 1] + bigEndian(length).suffix(2) + object.directory.prefix(length)
      + object.payloads.flatMap { $0 + tag }
  }

  private func nodes(in object: Opened) -> [[UInt8]] {
    zip(object.frames, object.payloads).filter { $0.0.type == .node }.flatMap { record, payload -> [[UInt8]] in
      let plain = try? FrameExpander().expand(payload, codec: record.codec, record.unitLengths, prefix: nil)
      return record.unitLengths.indices.compactMap { unit in
        plain.map { Array($0[record.unitOffset(unit)..<record.unitOffset(unit) + record.unitLengths[unit]]) }
      }
    }
  }

  /// The form behind the compression: size of a page, number of pages, form.
  private func cells(in object: Opened) -> [[UInt8]] {
    zip(object.frames, object.payloads).filter { $0.0.codec == .cells }.compactMap { record, payload -> [UInt8]? in
      guard let plain = try? FrameExpander().expand(payload, codec: .cells, record.unitLengths, prefix: nil),
        record.unitLengths.count <= 8, let exponent = (0..<8).first(where: { 512 << $0 == record.unitLengths[0] })
      else { return nil }
      var encoder = CellFormEncoder()
      plain.withUnsafeBytes { _ = encoder.encode($0, pageSize: record.unitLengths[0]) }
      return [UInt8(exponent), UInt8(record.unitLengths.count - 1)] + encoder.form
    }
  }

  private var packEntry: [UInt8] {
    PackEntry(
      number: 1, name: Digest.sha256(of: [1]), length: 8192, directoryLength: 512,
      version: UInt8(ObjectFormat.version), aead: 1, kem: 0, epoch: 2, salt: Known.salt
    ).encode()
  }

  private var facts: [UInt8] {
    let bodies = metas(.manifest).compactMap { try? ManifestBody(decoding: $0) }
    return VersionFacts.encode(
      bodies.map { body in
        VersionFacts(
          digest: Digest.sha256(of: [2]), length: 8192, epoch: 2, formatVersion: 1, body: body,
          core: try? Core(decoding: body.core), id: Digest.sha256(of: [3]))
      })
  }

  private var local: [UInt8]? {
    try? LocalSeal.seal(facts, purpose: Known.purpose, keys: Known.keys, random: Known.random)
  }
}
