import FoundationEssentials
import Glibc
import Repositories
import Sealing

/// The folder of the bases of companions, with what they have cost in `record.json`.
struct CompanionBaseFolder {
  /// Of all bases in it, in bytes.
  private static let mostBytes = 64 << 20

  let bases: CompanionBases
  private let path: String

  /// - Parameter limit: of the images of all databases, in bytes.
  /// - Returns: `nil` when there can be no such folder.
  init?(_ path: String, limit: Int) {
    guard (try? StateFiles.makeFolder(path)) != nil else { return nil }
    self.path = path
    let bytes = try? StateFiles.read("\(path)/record.json")
    let accounts = CompanionBases.accounts(json: bytes ?? [])
    bases = CompanionBases(in: path, accounts: accounts, room: min(Self.mostBytes, limit))
    tidy(accounts)
  }

  /// Takes note of a version that was acknowledged.
  func keep(_ members: [Core.Member]) {
    let accounts = bases.keep(members)
    if let bytes = try? JSONEncoder().encode(accounts) {
      try? StateFiles.write([UInt8](bytes), to: "\(path)/record.json", durably: false)
    }
  }

  static func removeAll(in path: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] { unlink("\(path)/\(name)") }
  }

  /// Removes what a killed push left, and what nobody knows any more.
  private func tidy(_ accounts: [String: CompanionBases.Account]) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    where name != "record.json" && accounts[name] == nil { unlink("\(path)/\(name)") }
  }
}
