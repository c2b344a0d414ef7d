extension Core {
  /// One file inside a version.
  package struct Member: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
      case database(FileContent)
      case file(FileContent)
      case folder
      case link(target: String)

      /// Targets are bytes: Swift holds texts for equal that people see alike.
      package static func == (left: Content, right: Content) -> Bool {
        switch (left, right) {
        case (.database(let one), .database(let other)), (.file(let one), .file(let other)): one == other
        case (.folder, .folder): true
        case (.link(let one), .link(let other)): one.utf8.elementsEqual(other.utf8)
        default: false
        }
      }
    }

    /// Relative, components joined by `/`.
    package let path: String
    /// Permission bits.
    package let mode: UInt32
    /// Milliseconds since 1970 UTC.
    package let modified: UInt64
    package let content: Content

    package init(path: String, mode: UInt32, modified: UInt64, content: Content) {
      self.path = path
      self.mode = mode
      self.modified = modified
      self.content = content
    }

    /// What is stored of it; `nil` for folders and links.
    package var file: FileContent? {
      switch content {
      case .database(let file), .file(let file): file
      case .folder, .link: nil
      }
    }

    var isImage: Bool {
      if case .database = content { return true }
      return false
    }
  }

  /// Units, length and digests of a member's bytes.
  package struct FileContent: Sendable, Equatable {
    package let unitType: UnitType
    /// Page size, or 65,536.
    package let unitSize: UInt32
    package let unitCount: UInt64
    /// In bytes.
    package let length: UInt64
    /// Over all fingerprints in order.
    package let imageDigest: Digest
    /// Of the bytes: what `sha256sum` prints.
    package let sha256: Digest

    package init(
      unitType: UnitType, unitSize: UInt32, unitCount: UInt64, length: UInt64, imageDigest: Digest, sha256: Digest
    ) {
      self.unitType = unitType
      self.unitSize = unitSize
      self.unitCount = unitCount
      self.length = length
      self.imageDigest = imageDigest
      self.sha256 = sha256
    }
  }
}

extension Core.Member {
  func encode(into writer: inout ByteWriter) {
    let type: UInt8 =
      switch content {
      case .database: 1
      case .file: 2
      case .folder: 3
      case .link: 4
      }
    writer.write(type)
    writer.write(string: path)
    writer.write(mode)
    writer.write(modified)
    if let file {
      writer.write(file.unitType.rawValue)
      writer.write(file.unitSize)
      writer.write(file.unitCount)
      writer.write(file.length)
      writer.write(file.imageDigest.bytes)
      writer.write(file.sha256.bytes)
    }
    if case .link(let target) = content { writer.write(string: target) }
  }

  init(_ reader: inout ByteReader) throws(SealError) {
    let type = try reader.read(UInt8.self)
    path = try reader.readString()
    mode = try reader.read()
    modified = try reader.read()
    guard Self.isSafe(path), mode <= 0o7777 else {
      throw SealError(.malformed, "a member has an impossible path or mode")
    }
    switch type {
    case 1: content = .database(try Self.readFile(&reader, .page))
    case 2: content = .file(try Self.readFile(&reader, .block))
    case 3: content = .folder
    case 4:
      let target = try reader.readString()
      guard !target.isEmpty, !target.utf8.contains(0) else {
        throw SealError(.malformed, "a link has an impossible target")
      }
      content = .link(target: target)
    default: throw SealError(.unsupported, "a member is of type \(type)", hint: "Install a newer sealift.")
    }
  }

  /// Relative, no empty, `.` or `..` component, no NUL: it stays inside the folder it is restored to.
  package static func isSafe(_ path: String) -> Bool {
    guard (1...4096).contains(path.utf8.count), !path.utf8.contains(0) else { return false }
    return path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { component in
      !component.isEmpty && !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8)
    }
  }

  /// Whether one of these paths is a folder on the way to this member: a link there would lead the restored file out of
  /// the folder that it is restored to.
  func isBelow(_ paths: Set<[UInt8]>) -> Bool {
    let bytes = Array(path.utf8)
    return bytes.indices.contains { bytes[$0] == UInt8(ascii: "/") && paths.contains(Array(bytes[..<$0])) }
  }

  private static func readFile(_ reader: inout ByteReader, _ expected: UnitType) throws(SealError) -> Core.FileContent {
    let type = try reader.read(UInt8.self)
    let file = Core.FileContent(
      unitType: expected, unitSize: try reader.read(), unitCount: try reader.read(), length: try reader.read(),
      imageDigest: try reader.readDigest(), sha256: try reader.readDigest())
    let size = UInt64(file.unitSize)
    guard UnitType(rawValue: type) != nil else {
      throw SealError(.unsupported, "a member has units of type \(type)", hint: "Install a newer sealift.")
    }
    guard type == expected.rawValue, file.unitCount < 1 << 32 else {
      throw SealError(.malformed, "a member has impossible units")
    }
    switch expected {
    case .page:
      guard (512...65_536).contains(size), size & (size - 1) == 0, file.unitCount * size == file.length else {
        throw SealError(
          .malformed, "a database image of \(file.length) bytes cannot have \(file.unitCount) pages of \(size)")
      }
    default:
      guard size == 65_536, file.length <= UInt64(Int.max) - size, file.unitCount == (file.length + size - 1) / size
      else {
        throw SealError(.malformed, "a file of \(file.length) bytes cannot have \(file.unitCount) blocks of \(size)")
      }
    }
    return file
  }
}
