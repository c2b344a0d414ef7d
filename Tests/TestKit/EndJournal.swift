/// Ends a journal as SQLite does where the transaction is one of several databases.
package func endJournal(of database: String, naming superJournal: String) throws {
  func four(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
  let name = Array(superJournal.utf8)
  let sum = name.reduce(UInt32(0)) { $0 + UInt32($1) }
  let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  let journal = try fileBytes(database + "-journal")
  try writeFile(database + "-journal", journal + four(0) + name + four(UInt32(name.count)) + four(sum) + magic)
}
