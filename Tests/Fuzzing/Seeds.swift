import FoundationEssentials

@testable import Sealing

/// Where each parser begins: whole things of its kind, because what was changed a little is more telling than noise.
enum Seeds {
  static func of(_ parser: String, _ vectors: VectorSeeds) -> [[UInt8]] {
    let written = texts[parser, default: []].map { Array($0.utf8) } + binary(parser)
    return written + vectors.of(parser)
  }

  /// What is neither text nor of the vectors.
  private static func binary(_ parser: String) -> [[UInt8]] {
    switch parser {
    case "property-list": return [propertyList]
    case "database": return [database]
    default: return []
    }
  }

  /// `{"NSStoreType": "SQLite"}`
  private static var propertyList: [UInt8] {
    let objects = [0xD1, 1, 2, 0x5B] + Array("NSStoreType".utf8) + [0x56] + Array("SQLite".utf8)
    let trailer: [UInt8] = [
      0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]
    return Array("bplist00".utf8) + objects + [8, 11, 23] + trailer + [UInt8(8 + objects.count)]
  }

  /// An empty database of 2 pages in WAL mode.
  private static var database: [UInt8] {
    var header = Array("SQLite format 3\0".utf8) + [16, 0, 2, 2, 0, 64, 32, 32, 0, 0, 0, 1, 0, 0, 0, 2]
    header += [UInt8](repeating: 0, count: 24) + [0, 0, 0, 1] + [UInt8](repeating: 0, count: 32) + [0, 0, 0, 1]
    return header + [0, 46, 0x7E, 0x90]
  }
}

extension Seeds {
  /// Whether an object opens and all its frames that rest on no other decode to what their fingerprints say.
  static func isWhole(_ object: [UInt8], _ kind: ObjectKind) -> Bool {
    guard let opened = try? OpenedObject.open(object, kind: kind, name: nil, keys: Known.keys) else { return false }
    let decoder = FrameDecoder(keys: Known.keys)
    return opened.directory.frames.indices.allSatisfy { index in
      opened.directory.frames[index].codec.hasPrefix || (try? opened.decodeFrame(index, with: decoder)) != nil
    }
  }
}
