import Storage

extension ObjectStore {
  /// A part of no bytes, which no header of HTTP can ask for: all there is to find out is whether it lies in the object.
  /// - Throws: `.notFound`; `.badRange` where the object ends before it.
  func emptyPart(at offset: Int, of name: ObjectName) async throws(StoreError) -> [UInt8] {
    guard let info = try await head(name) else {
      throw StoreError(.notFound, "there is no \(name) at \(traits.location)")
    }
    guard offset <= info.size else { throw .outside(offset..<offset, of: name, size: info.size) }
    return []
  }
}
