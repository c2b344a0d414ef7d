import Sealing
import Storage

extension Repository {
  /// Writes the manifest of a version anew under a name that no record names: the same core, the same locations, the
  /// same riders, whatever extensions it has; only the revision differs.
  /// - Parameter revision: one that the chain does not show for this version yet.
  func republish(
    _ manifest: StoredManifest, revision: UInt32, state: StateFolder?
  ) async throws -> StoredManifest {
    guard revision <= VersionName.lastRevision else {
      throw RepositoryError(
        .conflict, "version \(manifest.name.sequence) has been written anew too often",
        hint: "Pull it into a file and push that as a version of its own.")
    }
    let frames = try manifest.object.encodedFrames(with: FrameDecoder(keys: keys))
    var builder = ObjectBuilder(
      kind: .manifest, keys: keys, basePacks: manifest.object.directory.basePacks, random: random)
    for frame in frames { builder.add(frame) }
    let body = ManifestBody.encoded(manifest.object.directory.meta, asRevision: revision)
    let sealed = try builder.finish(meta: body)
    let name = VersionName(
      chain: manifest.name.chain, sequence: manifest.name.sequence, revision: revision, length: sealed.bytes.count,
      digest: sealed.name)
    let opened = try openManifest(sealed.bytes, name: name)
    let decoder = FrameDecoder(keys: keys)
    let isSame =
      opened.id == manifest.id
      && frames.indices.allSatisfy { opened.object.opens($0, to: frames[$0].payload, with: decoder) }
    guard isSame else {
      throw RepositoryError(.damaged, "a manifest that was sealed anew does not open to what it was")
    }
    try await store.put(ObjectBody(sealed.bytes, sha256: sealed.name.bytes), at: name.objectName, ifAbsent: false)
    state?.keep(sealed.bytes, as: sealed.name.hex)
    return opened
  }
}
