/// The faults whose rows the suites tell.
extension Fault {
  package static let altered = Fault(
    name: "every bit flipped and every cut of every kind of object",
    how:
      "each bit, each length, some longer ones and noise, of one object of each kind, of its parts as they are fetched alone, and of key slots; full size with SEALIFT_CAMPAIGNS",
    asserted: "refused before anything of it is believed", result: "0 accepted")
  package static let replayed = Fault(
    name: "objects and frames in the place of others",
    how:
      "swapped, spliced and replayed between objects, kinds, repositories, epochs and keys; hostile vectors of the format",
    asserted: "refused", result: "0 accepted")
  package static let wentBack = Fault(
    name: "a target that goes back, loses its end, has holes or forks",
    how:
      "made by hand at a store in memory: versions, keyrings and repositories of an earlier time, or of another machine",
    asserted: "told, and no push or pull goes on as if nothing were", result: "0 unnoticed")
  package static let hostileNames = Fault(
    name: "hostile names, hrefs and paths",
    how:
      "as names of objects, keys of an S3 listing, hrefs of a WebDAV listing, paths of members in a manifest: up, absolute, encoded, of other hosts, too long, with control characters",
    asserted: "refused, or passed over as nobody's; no request and no file anywhere else", result: "0 escapes")
  package static let credentials = Fault(
    name: "redirects, TLS that is none, proxies and logins",
    how: "scripted servers that redirect each request, speak plainly, ask for passwords, and stand in for a proxy",
    asserted: "no redirect is followed, nobody sees a password who may not", result: "0 leaks")
  package static let sideFiles = Fault(
    name: "side files, journals and files where a database is or will be",
    how: "each of them beside sources and destinations",
    asserted: "refused, or the right content; what was there stays",
    result: "0 wrong")
  package static let zoo = Fault(
    name: "databases of every kind",
    how:
      "generated, chosen by kind, made by real programs, of odd names, damaged, and of no kind at all; pushed by both methods",
    asserted:
      "restored, SQLite's shell says the same of them and a page copy is the same page by page, or they are refused by name",
    result: "0 mismatches")
  package static let chains = Fault(
    name: "chains of versions of databases of every kind",
    how:
      "random changes, both methods, copies whose pages change while they are read; the state folder and the bases lost between pushes; above 4 MiB each level of deltas in turn",
    asserted:
      "restored without state, by the program and by the reference decoder: SQLite's shell says of each what it said of the source, a vacuumed one has the SHA-256 of the copy that was sealed, and a page copy is the same page by page",
    result: "0 mismatches")
  package static let slots = Fault(
    name: "key slots that ask for anything",
    how: "every cost of memory and time, other repositories, other secrets, thousands of slots",
    asserted: "refused before any work, or opened; the honest slot opens in bounded time", result: "0 taken, 0 hangs")
  package static let nonces = Fault(
    name: "a pair of key and nonce used twice",
    how:
      "objects sealed with a sound random generator and with one that is stuck; each pair is proved by opening what it sealed",
    asserted: "no pair repeats", result: "0 repeats")
}
