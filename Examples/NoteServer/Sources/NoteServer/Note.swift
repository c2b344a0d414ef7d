import Foundation
import GRDB
import Hummingbird

/// A note, as it stands in the table `note` and in answers.
struct Note: Codable, Sendable {
  var id: Int64?
  var title: String
  var body: String
  var createdAt: Date
  var updatedAt: Date
}

/// What a client writes.
struct NoteText: Decodable, Sendable {
  var title: String
  var body: String
}

extension Note: FetchableRecord, MutablePersistableRecord {
  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

extension Note: ResponseEncodable {}
