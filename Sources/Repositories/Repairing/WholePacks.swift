package import Sealing
import Storage

/// The packs of the newest whole version of a chain: what an older version lost may have been stored anew since. Units are
/// found by their fingerprints; nothing is read before the first one is asked for. One task at a time.
package final class WholePacks: @unchecked Sendable {
  fileprivate struct Opened {
    let known: KnownPacks
    var frames: TolerantFrames
    /// Of one frame mostly several units are asked for, one after the other.
    var last: (place: FramePlace, frame: DecodedFrame)?
  }

  private let version: VersionFacts
  private let damaged: Set<Digest>
  private let repository: Repository
  private let state: StateFolder
  private let folder: String
  private let fetched: FetchedPacks
  private var opened: Opened?
  private var wasOpened = false

  /// - Parameters:
  ///   - version: the newest whole one.
  ///   - damaged: packs in which nothing is looked for, though the version may need some of their frames.
  ///   - folder: for files without names.
  ///   - fetched: what was fetched for versions of the chain.
  package init(
    of version: VersionFacts, without damaged: [Digest], _ repository: Repository, state: StateFolder,
    tables folder: String, keeping fetched: FetchedPacks
  ) {
    self.fetched = fetched
    self.version = version
    self.damaged = Set(damaged)
    self.repository = repository
    self.state = state
    self.folder = folder
  }

  /// Those of them in which something was looked for, and lost.
  var spoilt: Set<Digest> { opened?.frames.spoilt ?? [] }

  /// - Throws: `StoreError`, `.stateFolder`.
  func unit(_ print: Fingerprint) async throws -> [UInt8]? {
    if !wasOpened {
      opened = try await open()
      wasOpened = true
    }
    guard var packs = opened, let place = packs.known.place(of: print, within: Reach(depth: Limits.depth)) else {
      return nil
    }
    // Held once: what is changed is not copied.
    opened = nil
    defer { opened = packs }
    return try await packs.unit(at: place)
  }

  private func open() async throws -> Opened? {
    do {
      let manifest = try await repository.readManifest(version.name, state: state)
      let table = try await PackTable(of: manifest, repository: repository, state: state)
      let chain = version.chain
      let presence = try await Presence(repository, chain: chain, state: state)
      var loader = try KnownPacksLoader(repository, chain: chain, state: state, presence: presence)
      try await loader.add(table.all.filter { !damaged.contains($0.name) })
      let packs = try OpenPacks(table, repository: repository, chain: chain, state: state, in: folder)
      let frames = try TolerantFrames(
        VersionFrames(manifest: manifest, packs: packs), from: nil, keeping: fetched, state: state, in: folder)
      return Opened(known: loader.known, frames: frames)
    } catch let error where error.isDamage {
      return nil
    }
  }
}

extension WholePacks.Opened {
  fileprivate mutating func unit(at location: UnitLocation) async throws -> [UInt8]? {
    let place = FramePlace(pack: location.pack, frame: location.frame)
    if last?.place != place {
      last = nil
      if let frame = try await frames.content(of: place) { last = (place, frame) }
    }
    let unit = Int(location.unit)
    guard let frame = last?.frame, frame.record.unitLengths.indices.contains(unit) else { return nil }
    let start = frame.record.unitOffset(unit)
    return Array(frame.plain[start..<start + frame.record.unitLengths[unit]])
  }
}
