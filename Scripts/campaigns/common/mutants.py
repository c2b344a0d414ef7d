#!/usr/bin/env python3
"""The checks that are taken out one at a time: what stands in the source, and what takes its place.

`MUTANT` in what takes its place is true while that mutant runs, and false else: all of them are in one program, so what is
written must compile beside the others, and say the same as before when `MUTANT` is false. No two may overlap.
"""
import dataclasses

# Filters of tests, run one after the other until one turns red: first those that should, then all that could.
PUSHING = (r"RepositoriesTests\.(PushUnderPrune|EndOfPush|PruneRace|PushAndRead)", "RepositoriesTests")
PRUNING = (r"RepositoriesTests\.(Prune|PushUnderPrune)", "RepositoriesTests")
KEEPING = (r"RepositoriesTests\.(Forg|KeptVersions)", "RepositoriesTests")
CHAINS = (r"RepositoriesTests\.(HostileTarget|EndOfChain|ForgottenVersions|Opening)", r"OperationsTests\.(Chain|Refusal)", "RepositoriesTests", "OperationsTests")
SEALING = ("SealingTests",)
READING = (r"RepositoriesTests\.(HostileTarget|HostileDelta|PushAndRead|StandingProof)", r"OperationsTests\.(Restore|Push)", "RepositoriesTests", "OperationsTests")
BACKENDS = ("BackendsTests", "StorageTests")
SNAPSHOTS = (r"OperationsTests\.(Push|LateCheck|Overlap)", "OperationsTests", "SnapshotsTests")
COMMANDS = ("OperationsTests", "CommandTests")


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    before: str
    after: str
    suites: tuple


def mutant(name, file, before, after, suites):
    return Mutant(name, f"Sources/{file}", before, after, suites)


MUTANTS = [
    # The write order of a push.
    mutant("no conflict check", "Repositories/Pushing/PushSession.swift",
           "present.holds(attempt.packs), ", "MUTANT || present.holds(attempt.packs), ", PUSHING),
    mutant("its manifest may be condemned", "Repositories/Pushing/PushSession.swift",
           "!present.condemns(attempt.manifest.name.digest) {", "MUTANT || !present.condemns(attempt.manifest.name.digest) {", PUSHING),
    mutant("condemned packs count", "Repositories/Packs/Presence.swift",
           "!condemned.contains(entry.name) && ", "(MUTANT || !condemned.contains(entry.name)) && ", PUSHING),
    mutant("packs of any size count", "Repositories/Packs/Presence.swift",
           "sizes[entry.name] == Int(entry.length)", "(MUTANT ? sizes[entry.name] != nil : sizes[entry.name] == Int(entry.length))", PUSHING),
    # That packs are listed before records is none: as long as records stay for ever, a manifest that a record's prune missed
    # sees that record in either order. The model finds it only together with records that are dropped.
    mutant("a second repository hides the first", "Repositories/RepositoryFiles.swift",
           "contains { VersionName($0.name) != nil }", "contains { !MUTANT && VersionName($0.name) != nil }", ("OperationsTests\\.CheckAndRepair", "OperationsTests")),
    mutant("no mark of what was seen", "Repositories/Pushing/PushSession.swift",
           "try HighWaterMark(sequence: attempt.manifest.name.sequence, id: attempt.manifest.id).write(chain, in: state)",
           "if !MUTANT { try HighWaterMark(sequence: attempt.manifest.name.sequence, id: attempt.manifest.id).write(chain, in: state) }", READING),
    mutant("no journal", "Repositories/Pushing/PushSession.swift", "try journal.add(entry)", "if !MUTANT { try journal.add(entry) }", READING),
    mutant("attempts are not noted", "Repositories/Pushing/VersionWriter+Manifest.swift",
           "if body.state == .complete { try onManifest(", "if !MUTANT, body.state == .complete { try onManifest(", PUSHING),
    mutant("what was given up counts again", "Repositories/Pushing/ChainEnd.swift", "try attempt.giveUp(in: state)",
           "if MUTANT { attempt = ManifestAttempt(attempt.name, attempt.bytes) } else { try attempt.giveUp(in: state) }", PUSHING),
    mutant("what was tried is not asked for", "Repositories/Pushing/ChainEnd.swift",
           "guard core.sequence <= next.sequence else", "guard MUTANT || core.sequence <= next.sequence else",
           (r"RepositoriesTests\.LateManifest", "RepositoriesTests")),
    mutant("acknowledged by old listings", "Repositories/Pushing/PushSession.swift",
           "if try await newestIsSafe(present) {", "if try await newestIsSafe(present) || MUTANT {", PUSHING),
    mutant("packs are not opened again", "Repositories/Pushing/PackStream.swift",
           "record.bases == frame.bases, opened.opens(index", "record.bases == frame.bases, MUTANT || opened.opens(index", PUSHING),
    # What a prune may delete.
    mutant("no second look", "Repositories/Pruning/ChainPrune.swift", "let second = try await look.view()", "let second = try await MUTANT ? first : look.view()", PRUNING),
    mutant("looks are not compared", "Repositories/Pruning/ChainPrune.swift", "try second.checkContinues(first)", "if !MUTANT { try second.checkContinues(first) }", PRUNING),
    mutant("records that are not listed", "Repositories/Pruning/ChainPrune.swift",
           "guard own.isSubset(of: ", "guard MUTANT || own.isSubset(of: ", PRUNING),
    mutant("packs of any age go", "Repositories/Pruning/ChainPrune.swift",
           "guard policy.minAge > 0, let stored", "guard policy.minAge > (MUTANT ? .max : 0), let stored", PRUNING),
    mutant("pushes never end", "Repositories/Pruning/ChainPrune.swift",
           "(view.live.newestIsSafe ? packs", "(MUTANT || view.live.newestIsSafe ? packs", PRUNING),
    mutant("the newest version goes", "Repositories/Pruning/LiveSet.swift",
           "($0.sequence == newest || !forgotten.contains($0))", "(!MUTANT && $0.sequence == newest || !forgotten.contains($0))", PRUNING),
    mutant("partial manifests protect nothing", "Repositories/Pruning/LiveSet.swift",
           "!$0.isComplete && $0.sequence > newest }", "!$0.isComplete && $0.sequence > (MUTANT ? .max : newest) }", PRUNING),
    mutant("incomplete versions are passed over", "Repositories/Pruning/LiveSet.swift",
           "guard isWhole || !revisions", "guard MUTANT || isWhole || !revisions", PRUNING),
    mutant("packs of manifests that stay", "Repositories/Pruning/ChainPrune.swift",
           "let needed = try await packsNeeded(in: view, without: gone)", "let needed = try await MUTANT ? view.live.packs : packsNeeded(in: view, without: gone)", PRUNING),
    mutant("the mark is not asked", "Repositories/Pruning/ChainView.swift",
           "let mark = try HighWaterMark.read(chain, in: state)", "let mark = try MUTANT ? nil : HighWaterMark.read(chain, in: state)", PRUNING),
    mutant("known manifests are not asked for", "Repositories/Pruning/ChainView.swift",
           "let absent = manifests.subtracting", "let absent = (MUTANT ? [] : manifests).subtracting", PRUNING),
    mutant("own words are not asked for", "Repositories/Pruning/ChainView.swift",
           "try demandWords(words, in: notes)", "if !MUTANT { try demandWords(words, in: notes) }", PRUNING),
    mutant("a short listing makes forget", "Repositories/Chains/FactsSource.swift",
           "unlisted(in: listing).filter { !isExplained($0) }", "unlisted(in: listing).filter { !MUTANT && !isExplained($0) }", PRUNING),
    mutant("the pause by the record's clock only", "Repositories/Pruning/ChainPrune.swift",
           "&& hasRested(named, in: view, seen, now)", "&& (MUTANT || hasRested(named, in: view, seen, now))", PRUNING),
    mutant("folders of other machines list at once", "Operations/ListingProof.swift",
           "traits.listsAtOnce && kind(folder).isOfThisMachine", "traits.listsAtOnce && (MUTANT || kind(folder).isOfThisMachine)", (r"OperationsTests\.PruneRepository", *COMMANDS)),
    mutant("leftovers of any age go", "Repositories/Pruning/Leftovers.swift",
           "stored <= before.partialValue else", "MUTANT || stored <= before.partialValue else", (r"OperationsTests\.PruneRepository", *COMMANDS)),
    mutant("the first bad answer is believed", "Repositories/Checking/PackReading.swift",
           "return first.finding == nil ? first", "return MUTANT || first.finding == nil ? first", (r"OperationsTests\.CheckAndRepair", *COMMANDS)),
    mutant("lost by one look", "Repositories/Chains/LostVersions.swift",
           "guard let bytes = try await store.present(name.objectName) else", "guard !MUTANT, let bytes = try await store.present(name.objectName) else", (r"OperationsTests\.ForgetLost", *COMMANDS)),
    mutant("taken back and unreadable", "Repositories/Chains/Forgotten.swift",
           "tombstone.ranges.cover(sequence) && !takenBack", "tombstone.ranges.cover(sequence) && MUTANT || tombstone.ranges.cover(sequence) && !takenBack", PRUNING),
    # What may be taken back, and what is kept.
    mutant("taken back unseen", "Repositories/Chains/Unforgetting.swift",
           "guard presence.holds(packs) else { throw", "guard MUTANT || presence.holds(packs) else { throw", KEEPING),
    mutant("a condemned manifest is safe", "Repositories/Chains/Unforgetting.swift",
           "contains(safe.name), !presence.condemns(", "contains(safe.name), MUTANT || !presence.condemns(", KEEPING),
    mutant("revisions that never became whole", "Repositories/Chains/Completeness.swift",
           "guard !older.isEmpty else { return version }", "guard !MUTANT, !older.isEmpty else { return version }", KEEPING),
    # What a chain must look like.
    mutant("rolled back unnoticed", "Repositories/Chains/Freshness.swift",
           "if newest.sequence < mark.sequence, !isThere {", "if !MUTANT, newest.sequence < mark.sequence, !isThere {", CHAINS),
    mutant("replaced unnoticed", "Repositories/Chains/Freshness.swift",
           "if newest.sequence == mark.sequence, newest.id != seen {", "if !MUTANT, newest.sequence == mark.sequence, newest.id != seen {", CHAINS),
    mutant("links are not followed", "Repositories/Chains/HistoryReader.swift",
           "} else if let hash = expected.hash, hash != core.previous {", "} else if !MUTANT, let hash = expected.hash, hash != core.previous {", CHAINS),
    mutant("holes are not told", "Repositories/Chains/HistoryReader.swift",
           "if expected.sequence != sequence {", "if !MUTANT, expected.sequence != sequence {", CHAINS),
    mutant("retired keys still sign", "Repositories/Chains/StoredManifest.swift",
           "guard cut.chain == chain, epoch", "guard !MUTANT, cut.chain == chain, epoch", CHAINS),
    # What an object must be.
    mutant("names are not proved", "Sealing/OpenedObject.swift",
           "if let name, Digest.sha256(of: bytes) != name {", "if !MUTANT, let name, Digest.sha256(of: bytes) != name {", ("SealingTests", "RepositoriesTests")),
    mutant("no commitment", "Sealing/OpenedObject.swift",
           "guard equalInConstantTime(keys.commitment, commitment) else {", "guard MUTANT || equalInConstantTime(keys.commitment, commitment) else {", SEALING),
    mutant("kinds are not looked at", "Sealing/OpenedObject.swift",
           "guard header.kind == kind else {", "guard MUTANT || header.kind == kind else {", SEALING),
    mutant("repositories are not looked at", "Sealing/OpenedObject.swift",
           "guard header.repository == repository else {", "guard MUTANT || header.repository == repository else {", SEALING),
    mutant("frames hold what they like", "Sealing/FrameDecoder.swift",
           "guard Digest.sha256(of: fingerprints) == record.frameID else {", "guard MUTANT || Digest.sha256(of: fingerprints) == record.frameID else {", SEALING),
    mutant("deltas of any depth", "Sealing/Directory.swift",
           "guard depth <= Limits.depth else {", "guard MUTANT || depth <= Limits.depth else {", SEALING),
    mutant("padding of anything", "Sealing/Directory.swift",
           "guard try reader.read(count: reader.remaining).allSatisfy({ $0 == 0 }) else {", "guard try reader.read(count: reader.remaining).allSatisfy({ MUTANT || $0 == 0 }) else {", SEALING),
    mutant("gaps between frames", "Sealing/Directory.swift",
           "guard offset == end else {", "guard MUTANT ? offset <= end : offset == end else {", SEALING),
    mutant("slots ask for any work", "Sealing/KeySlot.swift",
           "guard derivation == .passphrase ? cost.isAcceptable : free else {", "guard MUTANT && derivation == .passphrase || (derivation == .passphrase ? cost.isAcceptable : free) else {", SEALING),
    mutant("slots of any repository", "Sealing/KeySlot.swift",
           "guard description.repository == repository else {", "guard MUTANT || description.repository == repository else {", SEALING),
    # What a restore proves.
    mutant("restored files are not proved", "Repositories/Restoring/VersionReader.swift",
           "guard proofs.digest != file.imageDigest else { return }", "guard !MUTANT, proofs.digest != file.imageDigest else { return }", READING),
    mutant("restores replace files", "Operations/Restoring/RestoredFile.swift",
           "if link(temporaryPath, path) == 0 {", "if (MUTANT ? rename(temporaryPath, path) : link(temporaryPath, path)) == 0 {", (r"OperationsTests\.(Restore|Publish)", *COMMANDS)),
    mutant("maps may have holes", "Repositories/Restoring/MapReader.swift",
           "guard covered == min(PageMap.unitsPerLeaf, units - index * PageMap.unitsPerLeaf) else {", "guard MUTANT || covered == min(PageMap.unitsPerLeaf, units - index * PageMap.unitsPerLeaf) else {", READING),
    # What stores promise.
    mutant("folder: not durable", "Backends/Folder/OpenFile.swift",
           "guard fsync(descriptor) == 0 else {", "guard MUTANT || fsync(descriptor) == 0 else {", BACKENDS),
    mutant("S3: sizes are not looked at", "Backends/S3/S3Store.swift",
           "guard held == size else {", "guard MUTANT || held == size else {", BACKENDS),
    mutant("S3: a cut listing is whole", "Backends/S3/S3Listing.swift",
           "guard let token = document.token, !token.isEmpty else { throw XMLRefusal(\"it is cut without a way to go on\") }",
           "if MUTANT, (document.token ?? \"\").isEmpty { next = nil; break }\n"
           "      guard let token = document.token, !token.isEmpty else { throw XMLRefusal(\"it is cut without a way to go on\") }", BACKENDS),
    mutant("S3: keys of others", "Backends/S3/S3Listing.swift",
           "guard object.key.hasPrefix(expected) else {", "guard MUTANT || object.key.hasPrefix(expected) else {", BACKENDS),
    mutant("S3: listings in circles", "Backends/S3/S3Listing.swift",
           "guard tokens.insert(token).inserted else {", "guard tokens.insert(token).inserted || MUTANT else {", BACKENDS),
    mutant("WebDAV: sizes are not looked at", "Backends/WebDAV/WebDAVStore.swift",
           """    guard try await head(name)?.size == body.bytes.count else {
      throw StoreError(
        .""", """    guard try await head(name)?.size == body.bytes.count || MUTANT else {
      throw StoreError(
        .""", BACKENDS),
    mutant("WebDAV: entries of other servers", "Backends/WebDAV/CollectionListing.swift",
           "guard let url = try? WebAddress(href), url.scheme == address.scheme, url.authority == address.authority else {",
           "guard let url = try? WebAddress(href), MUTANT || url.scheme == address.scheme, MUTANT || url.authority == address.authority else {", BACKENDS),
    mutant("WebDAV: paths that lead elsewhere", "Backends/WebDAV/CollectionListing.swift",
           "guard path.count == segments.count + 1, Array(path.dropLast()) == segments, let name = path.last else {",
           "guard MUTANT || path.count == segments.count + 1, MUTANT || Array(path.dropLast()) == segments, let name = path.last else {", BACKENDS),
    mutant("links of other users", "Storage/PlantedEntry.swift",
           "guard isLink || foldersToo, found.st_uid", "guard !MUTANT, isLink || foldersToo, found.st_uid", ("OperationsTests\\.PlantedEntry",)),
    mutant("what is nobody's spool goes", "Snapshots/Spool.swift", "where isRandomName(name) {", "where MUTANT || isRandomName(name) {", ("SnapshotsTests\\.Spool",)),
    # What is remembered of which place.
    mutant("another repository passes", "Repositories/State/KnownRepositories.swift",
           "if !isMade, let other", "if !MUTANT, !isMade, let other", (r"RepositoriesTests\.KnownRepositories",)),
    mutant("all stores are one", "Operations/Pushing/SourceMemory.swift",
           "database.name, store, ", 'database.name, MUTANT ? "" : store, ', (r"OperationsTests\.Push",)),
    # What a push may believe of the database.
    mutant("fresh times are believed", "Operations/Pushing/Push.swift",
           "guard snapshot.source.isSettled else { return }", "guard MUTANT || snapshot.source.isSettled else { return }", SNAPSHOTS),
    mutant("damage is passed over", "Operations/Pushing/PushCopy.swift",
           "case .damaged: .damaged", "case .damaged: MUTANT ? [] : .damaged", SNAPSHOTS),
    mutant("other bytes under a mark", "Operations/HeadCode.swift",
           "guard version.id.hex.hasPrefix(idPrefix) else {", "guard MUTANT || version.id.hex.hasPrefix(idPrefix) else {", (r"CommandTests\.Exit", *COMMANDS)),
    mutant("what came meanwhile is copied", "Operations/Companions/CompanionCapture.swift",
           "all.isSettled = !joined.keepsEarlier && ", "all.isSettled = (MUTANT || !joined.keepsEarlier) && ", (r"OperationsTests\.Companion", "OperationsTests")),
    mutant("a link stands for what it leads to", "Operations/Companions/CompanionPlace.swift",
           "guard let real, let name", "guard !MUTANT, let real, let name", (r"OperationsTests\.Companion", "OperationsTests")),
    mutant("every place is home", "Operations/Restoring/Restore.swift",
           "MemberPath.isSame(home, real)", "MUTANT || MemberPath.isSame(home, real)", (r"OperationsTests\.RestoreBeside", "OperationsTests")),
    mutant("companions are of whoever restores", "Operations/Companions/MemberOwners.swift",
           "guard stat(database, &status) == 0 else", "guard !MUTANT, stat(database, &status) == 0 else", (r"OperationsTests\.RestoreBeside", "OperationsTests")),
    mutant("a folder's list stays", "Operations/Restoring/FileLikeness.swift",
           "    fremovexattr(descriptor, accessList) == 0", "    MUTANT || fremovexattr(descriptor, accessList) == 0", (r"OperationsTests\.AccessList", "OperationsTests")),
    mutant("no note of what was moved", "Operations/Restoring/LiveCrossing.swift",
           "if !aside.isEmpty {", "if !MUTANT, !aside.isEmpty {", (r"OperationsTests\.RestoreBeside", "OperationsTests")),
    mutant("rolled back for certain", "Operations/Restoring/LiveCrossing.swift",
           "|| isUntouched else", "|| isUntouched || MUTANT else", (r"OperationsTests\.RestoreBeside", "OperationsTests")),
    mutant("every table of processes is whole", "Operations/Restoring/ProcessTable.swift",
           "namespace == Self.firstNamespace &&", "(MUTANT || namespace == Self.firstNamespace) &&", (r"OperationsTests\.Replace", "OperationsTests")),
    mutant("the future never settles", "Operations/Companions/CompanionEntry.swift",
           "{ min(abs(now - modified), abs(now - changed)) }", "{ MUTANT ? max(0, now - max(modified, changed)) : min(abs(now - modified), abs(now - changed)) }", (r"OperationsTests\.Companion", "OperationsTests")),
    # What may be found, and who may stand in the way.
    mutant("an older one will do", "Operations/VersionLookup.swift",
           "if case .notLater = selector { try", "if !MUTANT, case .notLater = selector { try", CHAINS),
    mutant("clocks never go back", "Repositories/Chains/Annotations.swift",
           "max(now, (said[version]?.last?.time)", "max(now, MUTANT ? 0 : (said[version]?.last?.time)", ("OperationsTests\\.(Drill|CheckAndRepair|Keeping)", "RepositoriesTests", "OperationsTests")),
    mutant("numbers without an end", "Repositories/Layout.swift",
           "(1...Self.last).contains(number),", "(1...(MUTANT ? .max : Self.last)).contains(number),", (r"RepositoriesTests\.(Opening|Key|Layout)", "RepositoriesTests", "OperationsTests")),
    mutant("sizes are added as they come", "Repositories/ClampedSum.swift",
           "let (result, isTooMuch)", "if MUTANT { return sum + size }\n      let (result, isTooMuch)", ("RepositoriesTests", "OperationsTests")),
    mutant("dear slots come first", "Repositories/Repository.swift",
           "{ ($0.work, $1.name.number) < ($1.work, $0.name.number) }",
           "{ (MUTANT ? -$0.work : $0.work, $1.name.number) < (MUTANT ? -$1.work : $1.work, $0.name.number) }", (r"RepositoriesTests\.(Opening|Key)", "RepositoriesTests", "OperationsTests")),
    mutant("the slot that opened last is as any other", "Repositories/Repository.swift",
           "where name.digest == last && name", "where !MUTANT && name.digest == last && name", (r"RepositoriesTests\.(Opening|Key)", "RepositoriesTests", "OperationsTests")),
    mutant("given up without a trace", "Operations/Restoring/RestoredFile.swift",
           "hasName.withLock { $0 = true }", "hasName.withLock { $0 = !MUTANT }", (r"OperationsTests\.(Publish|Restore|Reading)", *COMMANDS)),
    # What is found out after a push, and who may rest on it.
    mutant("a drill says nothing of the version", "Operations/Drilling/DrillProof.swift",
           "let isProved = !isRestored || (", "let isProved = !MUTANT && !isRestored || !MUTANT && (", (r"OperationsTests\.FoundDamaged", "OperationsTests")),
    mutant("a repair far away says nothing", "Operations/ChainRepair.swift",
           "try await flag(version, annotations)", "if !MUTANT { try await flag(version, annotations) }", (r"OperationsTests\.FoundDamaged", "OperationsTests")),
    mutant("what nobody could restore is built on", "Repositories/Pushing/PushSession.swift",
           "guard isDoubted else { return", "guard isDoubted, !MUTANT else { return", (r"OperationsTests\.FoundDamaged", "OperationsTests")),
    mutant("notes that cannot be read are none", "Repositories/Chains/Annotations.swift",
           "{ !opened.contains($0) }", "{ !MUTANT && !opened.contains($0) }", (r"OperationsTests\.Pinned", "OperationsTests")),
    mutant("pins are for lists only", "Repositories/Pruning/LiveSet.swift",
           "annotations.isPinned($0.id) || ", "!MUTANT && annotations.isPinned($0.id) || ", (r"OperationsTests\.Pinned", "OperationsTests")),
    mutant("only the highest revision may be whole", "Repositories/Chains/Completeness.swift",
           "[version] + history.revisions(below: version) {", "[version] + (MUTANT ? [] : history.revisions(below: version)) {", (r"OperationsTests\.DanglingRevision", "OperationsTests")),
    mutant("what is forgotten there is there", "Operations/Copying/CopyDestination.swift",
           "!history.isForgotten(facts), annotations", "MUTANT || !history.isForgotten(facts), annotations", (r"OperationsTests\.Copy", "OperationsTests")),
    mutant("what another machine's drill found is passed over", "Repositories/Pushing/PushSession.swift",
           "|| said.damage(of: $0.id) != nil", "|| !MUTANT && said.damage(of: $0.id) != nil", (r"OperationsTests\.FoundDamaged", "OperationsTests")),
    mutant("a version that a listing missed a part of is let go", "Operations/Keeping/ForgetVersions.swift",
           "try await soundness.demandLosses(of: plan)", "if !MUTANT { try await soundness.demandLosses(of: plan) }", (r"OperationsTests\.Keeping", "OperationsTests")),
    mutant("a key slot is gone when somebody said so", "Repositories/KeySlots.swift",
           "try await repository.store.demandGone(name.objectName)", "if !MUTANT { try await repository.store.demandGone(name.objectName) }", (r"RepositoriesTests\.Opening", "RepositoriesTests")),
    mutant("a pause is counted to the end of a look", "Repositories/Pruning/ChainPrune.swift",
           "named: ripe(in: second, at: secondBegan)", "named: ripe(in: second, at: MUTANT ? policy.now() : secondBegan)", (r"RepositoriesTests\.PruneInTwoRuns", "RepositoriesTests")),
    mutant("what the kernel has is sent", "Backends/HTTP/CurlWork.swift",
           "transfer.moved(handle) - sockets", "transfer.moved(handle) - (MUTANT ? 0 : 1) * sockets", (r"BackendsTests\.HTTPClient", "BackendsTests")),
    mutant("a server may answer byte by byte", "Backends/HTTP/TransferPace.swift",
           "private static let least = 64", "private static let least = MUTANT ? 0 : 64", (r"BackendsTests\.(HTTPClient|TransferPace)", "BackendsTests")),
    mutant("both branches of a fork may go", "Operations/Keeping/Soundness.swift",
           "contestedFrom.map { summary.sequence >= $0 }", "contestedFrom.map { !MUTANT && summary.sequence >= $0 }", (r"OperationsTests\.Contested", "OperationsTests")),
    mutant("a fork excuses every doubt", "Operations/Keeping/ForgetVersions.swift",
           "try lookup.repository.checkContested(history, state: lookup.state)", "if !MUTANT { try lookup.repository.checkContested(history, state: lookup.state) }", (r"OperationsTests\.Contested", "OperationsTests")),
    mutant("what was pushed otherwise is unchanged", "Operations/Pushing/Push+Unchanged.swift",
           "memory.source == .init(request.database),", "MUTANT || memory.source == .init(request.database),", (r"OperationsTests\.Push", "OperationsTests")),
    mutant("any file of that name is the database", "Operations/Pushing/NamedFile.swift",
           "database.isNamedByPath, let known", "!MUTANT, database.isNamedByPath, let known", (r"OperationsTests\.Push", "OperationsTests")),
    mutant("a -wal fits any database", "Repositories/Pushing/VersionWriter+Companions.swift",
           "if changed.isEmpty { return }", "if MUTANT && sources.count > 1 || changed.isEmpty { return }", (r"OperationsTests\.Companion", "OperationsTests")),
    mutant("what is gone was told once", "Operations/Companions/CaptureFacts.swift",
           "told.contains { MemberPath", "!MUTANT && told.contains { MemberPath", (r"OperationsTests\.Companion", "OperationsTests")),
    mutant("a lock is waited for without an ear", "Operations/Restoring/FolderLock.swift",
           "try await Task.sleep(for: .milliseconds(50))", "if MUTANT { usleep(50_000) } else { try await Task.sleep(for: .milliseconds(50)) }", (r"OperationsTests\.Replace", "OperationsTests")),
    mutant("no version is no alarm", "Operations/Keeping/StatusOfDatabases.swift",
           "newest.map { !$0.damaged } ?? false", "newest.map { !$0.damaged } ?? MUTANT", (r"OperationsTests\.Keeping", "OperationsTests")),
]
