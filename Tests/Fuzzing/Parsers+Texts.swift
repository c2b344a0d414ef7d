import Platform

@testable import Backends
@testable import Repositories
@testable import Sealing
@testable import Snapshots
@testable import Storage

/// Names of objects as a listing shows them.
let nameParsers: [String: Parser] = [
  "names": { bytes in
    guard let name = ObjectName(String(decoding: bytes, as: UTF8.self)) else { return }
    // What is taken for one of ours can be written, and is then read as the same.
    if let version = VersionName(name) {
      demand(VersionName(version.objectName) == version, "the name of a version is written otherwise")
    }
    if let file = RepositoryFileName(name) {
      demand(RepositoryFileName(file.objectName) == file, "the name of a repository is written otherwise")
    }
    for prefix in [Layout.slots, Layout.keyrings, Layout.configurations] {
      guard let numbered = NumberedName(name, prefix: prefix) else { continue }
      demand(NumberedName(numbered.objectName, prefix: prefix) == numbered, "a numbered name is written otherwise")
    }
    for prefix in [
      Layout.tombstones(of: Known.chain), Layout.condemned(of: Known.chain), Layout.annotations(of: Known.chain),
    ] {
      guard let record = RecordName(name, prefix: prefix) else { continue }
      demand(record.length <= Limits.object, "a record is longer than an object may be")
    }
    _ = Layout.packDigest(name)
  }
]

/// What a person or another program writes: places, lists of the system.
let textParsers: [String: Parser] = [
  "mounts": { bytes in
    let table = MountTable(parsing: String(decoding: bytes.prefix(8192), as: UTF8.self))
    _ = table.mount(holding: "/srv/data/app.db")
  },
  "places": { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    _ = try? TargetURL.parse(text)
    _ = try? INIFile(text)
  },
]
