package import Sealing

/// A version as a check saw it.
package struct CheckedVersion: Sendable {
  package let chain: ChainID
  package let sequence: UInt64
  /// `nil` when nothing says it any more.
  package let id: Digest?
  /// What its manifest says; `nil` when that cannot be read.
  package let facts: VersionFacts?
  /// The damaged or missing objects that it needs; none when it is whole.
  package let objects: [String]
  /// Objects of a later format that it needs, or that may say more of it.
  package let later: [String]
  /// Where it is harmed: its database is whole, as far as somebody looked, and companions are not.
  package var sparesDatabase = false

  package var isHarmed: Bool { !objects.isEmpty }
  /// Only a newer program can say whether it is whole.
  package var isUnjudged: Bool { objects.isEmpty && !later.isEmpty }
  package var isWhole: Bool { objects.isEmpty && later.isEmpty }
}

/// What a check found in one chain.
package struct CheckedChain: Sendable {
  package let chain: ChainID
  /// Of the newest version that can be read.
  package var database: String?
  package var host: String?
  /// One for each object, in the order of their names.
  package var findings: [CheckFinding] = []
  /// Tombstones, annotations and condemned records among them: nothing else says what they said.
  package var spoiltRecords: [CheckFinding] = []
  /// Manifests among them that cannot be read, of versions of which an earlier revision can, and is whole: nothing is to be
  /// saved, and what they said above that nobody knows.
  package var spoiltRevisions: [CheckFinding] = []
  /// What does not fit in the chain as a whole: forks, broken links, a target that went back.
  package var problems: [RepositoryError] = []
  /// What this machine said of versions, or has read of them, and is not listed.
  package var lostWords: RepositoryError?
  /// Two machines pushed there as one, and that is all: told, and no damage, for both versions are there.
  package var isContested = false
  /// Every version that counts, harmed, whole or neither, oldest first.
  package var versions: [CheckedVersion] = []
  /// Of those that can be read, what was found damaged before, and nobody took back: by id.
  package private(set) var foundDamaged: [Digest: String] = [:]
  /// Versions that were forgotten and wait for a prune; they are not looked at.
  package var forgotten = 0
  /// Packs that the versions need, and those of them that were read whole.
  package var packs = 0
  package var packsRead = 0
  package var bytesRead = 0
  /// Packs that nothing needs.
  package var unreferenced = 0
  package var unreferencedBytes = 0
  /// Nothing is listed below its manifests' prefix, whatever is below that of its packs.
  package var lacksManifests = false
  /// Packs that are not to be used any more.
  package var damagedPacks: [Digest] = []
  /// Those of them that are there in their length: no listing shows what is wrong with them.
  package var spoiltPacks: [Digest] = []

  init(_ chain: ChainID) { self.chain = chain }

  mutating func note(_ said: Annotations) {
    for facts in versions.compactMap(\.facts) { foundDamaged[facts.id] = said.damage(of: facts) }
  }

  package var harmed: [CheckedVersion] { versions.filter(\.isHarmed) }
  /// Versions that are harmed by an object that is there in its length.
  package var spoilt: [CheckedVersion] {
    let gone = Set(findings.filter(\.isGone).map(\.object))
    return harmed.filter { !gone.isSuperset(of: $0.objects) }
  }
  package var whole: [CheckedVersion] { versions.filter(\.isWhole) }
  package var unjudged: [CheckedVersion] { versions.filter(\.isUnjudged) }
  package var isSound: Bool {
    !findings.contains(where: \.isDamage) && (problems.isEmpty || isContested) && harmed.isEmpty
  }
  /// Nothing that versions may hang on is of a later format.
  package var isJudged: Bool { !findings.contains(where: \.leavesDoubt) && unjudged.isEmpty }
}

/// What a check found in a repository.
package struct CheckReport: Sendable {
  /// Of the objects that open the repository: its file, slots, keyrings, configurations.
  package var findings: [CheckFinding] = []
  /// Those of them that no repair can mend.
  package var unmendable: [CheckFinding] = []
  package var chains: [CheckedChain] = []
  /// Objects below the prefixes of a repository whose names say nothing to this program.
  package var unknown = 0

  package var allFindings: [CheckFinding] { findings + chains.flatMap(\.findings) }
  package var isSound: Bool { !findings.contains(where: \.isDamage) && chains.allSatisfy(\.isSound) }
  package var isJudged: Bool { !findings.contains(where: \.leavesDoubt) && chains.allSatisfy(\.isJudged) }
}
