/// A server may have much to do with what it is to store before it says that it has it.
enum LongestStoring {
  /// Until the answer to whoever has sent a whole object, or wants it under another name. A gateway may hand on to a cloud
  /// what it took before it answers: at 1 Mbit/s a minute for each pack, and 9 for eight at once, or for the largest object.
  /// Others look for viruses. Who gave it up would send everything anew, and leave a copy behind each time.
  static let patience = Duration.seconds(10 * 60)
}
