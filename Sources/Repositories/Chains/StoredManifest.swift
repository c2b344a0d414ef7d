package import Sealing
import Storage

/// A manifest that was fetched, authenticated and decoded, with its riders (`Docs/Format.md` §6).
package struct StoredManifest: Sendable {
  package let name: VersionName
  package let object: OpenedObject
  package let body: ManifestBody
  /// `nil` for a partial manifest.
  package let core: Core?
  /// The version id; of a partial manifest, zeros.
  package let id: Digest

  package var isComplete: Bool { core != nil }

  package var facts: VersionFacts {
    VersionFacts(
      digest: name.digest, length: name.length, epoch: object.epoch, formatVersion: object.version, body: body,
      core: core, id: id)
  }
}

extension VersionFacts {
  package var name: VersionName {
    VersionName(chain: chain, sequence: sequence, revision: revision, length: length, digest: digest)
  }
}

extension StateFolder {
  /// Drops a manifest that the next push does not read, unless it is short.
  func dropLong(_ name: VersionName) {
    if name.length > Repository.largestKept { drop(name.digest.hex) }
  }
}

extension Repository {
  /// The largest manifest, in bytes, that is kept in the state folder whichever it is: what every push reads, the newest
  /// version of a chain that is pushed to here, may be longer.
  static var largestKept: Int { 256 << 10 }

  /// Manifests that are read at once have no more bytes than these together, and a longer one is read alone: opened,
  /// each takes seven times its length.
  package static var manifestBytesAtOnce: Int { Limits.object / 4 }

  /// Fetches and opens one manifest, from `state`'s cache where it is kept.
  /// - Parameters:
  ///   - keep: keep it there for the next time.
  ///   - keepsLong: also a long one, of a version.
  /// - Throws: `.damaged` when it is not what its name says; `SealError`; `StoreError`.
  package func readManifest(
    _ name: VersionName, state: StateFolder? = nil, keep: Bool = true, keepsLong: Bool = false
  ) async throws -> StoredManifest {
    if let kept = state?.kept(name.digest.hex), let manifest = try? openManifest(kept, name: name) { return manifest }
    let bytes = try await store.get(name.objectName, range: nil)
    let manifest = try openManifest(bytes, name: name)
    let isShort = bytes.count <= Self.largestKept
    if keep, isShort || keepsLong && manifest.isComplete { state?.keep(bytes, as: name.digest.hex) }
    return manifest
  }

  /// A manifest of which nothing but its hash is known: it says itself what it is called.
  func openManifest(_ bytes: [UInt8], digest: Digest) throws -> StoredManifest {
    let body = try manifestBody(bytes, digest).body
    let name = VersionName(
      chain: body.chain, sequence: body.sequence, revision: body.revision, length: bytes.count, digest: digest)
    return try openManifest(bytes, name: name)
  }

  private func manifestBody(_ bytes: [UInt8], _ digest: Digest) throws -> (object: OpenedObject, body: ManifestBody) {
    let object = try OpenedObject.open(bytes, kind: .manifest, name: digest, keys: keys)
    return (object, try ManifestBody(decoding: object.directory.meta))
  }

  func openManifest(_ bytes: [UInt8], name: VersionName) throws -> StoredManifest {
    let (object, body) = try manifestBody(bytes, name.digest)
    guard body.chain == name.chain, body.sequence == name.sequence, body.revision == name.revision else {
      throw RepositoryError(
        .damaged, "the manifest at \(name.objectName) belongs to another place of the chain",
        hint: "Somebody copied or renamed objects at the target.")
    }
    let core = try body.core.isEmpty ? nil : Core(decoding: body.core)
    if let core {
      guard core.chain == name.chain, core.sequence == name.sequence else {
        throw RepositoryError(.damaged, "the manifest at \(name.objectName) does not agree with itself")
      }
    }
    let id = core == nil ? Digest.zero : Digest.sha256(of: body.core)
    guard isGenuine(body.sequence, core == nil ? nil : id, of: body.chain, epoch: object.epoch) else {
      throw retired(name)
    }
    return StoredManifest(name: name, object: object, body: body, core: core, id: id)
  }

  func retired(_ name: VersionName) -> RepositoryError {
    RepositoryError(
      .damaged, "the manifest at \(name.objectName) is sealed with a key that was retired before it",
      hint: "Whoever held the retired key may have made it; it is not used.")
  }

  /// After a rotation of the root key, nothing of the old epoch may appear beyond the noted version, nor another one
  /// in its place (`Docs/Format.md` §5.1).
  /// - Parameter version: the core hash of what is said to be version `sequence`; `nil` when it is none.
  func isGenuine(_ sequence: UInt64, _ version: Digest?, of chain: ChainID, epoch: UInt32) -> Bool {
    keys.keyring.cuts.allSatisfy { cut in
      guard cut.chain == chain, epoch <= cut.epoch, sequence >= cut.sequence else { return true }
      return sequence == cut.sequence && (version == nil || version == cut.coreHash)
    }
  }
}
