import TestKit
import Testing

/// `Scripts/quickstart` without its build, and with a database of a few rows in the place of Debian's.
@Suite struct QuickstartTests {
  /// Functions, which the script inherits. The program takes a key file: a passphrase would cost scrypt each time.
  /// sqlite3 prints headers, unless it is told to pass over ~/.sqliterc: it looks for that where the list of users
  /// says, whatever HOME is.
  private static let surroundings = """
    sealift() { env -u SEALIFT_PASSPHRASE_FILE "$SEALIFT_PROGRAM" "$@" --key-file "$SEALIFT_PASSPHRASE_FILE"; }
    cp() {
      [ "$1" != /usr/share/proj/proj.db ] || set -- ../small.db "$2"
      builtin command cp "$@"
    }
    command() {
      [ "$1" != sqlite3 ] || [ "$2" = -init ] || set -- sqlite3 -header "${@:2}"
      builtin command "$@"
    }
    sqlite3() { command sqlite3 "$@"; }
    dpkg-query() { echo installed; }
    swift() { return 9; }
    export -f sealift cp command sqlite3 dpkg-query swift
    exec "$0" try
    """

  private func quickstart(_ program: Program) async throws -> ProgramEnd {
    try await program.start("/bin/bash", ["-c", Self.surroundings, "\(SourceTree.root)/Scripts/quickstart"])
  }

  @Test func `the demonstration neither reads nor writes what is the person's own`() async throws {
    var program = try Program()
    program.environment["SEALIFT_CONFIG"] = try program.write(
      #"{"stateFolder": "\#(program.file("theirs"))"}"#, to: "config.json")
    program.environment["SEALIFT_PROGRAM"] = Program.path
    program.environment["SEALIFT_BINARY"] = Program.path
    try SQLite.run(
      "CREATE TABLE usage(place TEXT); INSERT INTO usage VALUES('here'), ('there')", on: program.file("small.db"))

    let ending = try await quickstart(program)
    #expect(ending.status == 0, "\(ending.output) \(ending.error)")
    #expect(ending.output.contains("\nDone: two versions were pushed; both came back"))
    #expect(program.exists("try/state") && program.exists("try/restored.db"))
    #expect(!program.exists("theirs") && program.files(below: "home").isEmpty)

    // Before anything is built, which here would end with 9.
    program.environment["SEALIFT_BINARY"] = nil
    let again = try await quickstart(program)
    #expect(again.status == 1, "\(again.error)")
    #expect(again.error.contains("/try is not empty"), "\(again.error)")
  }
}
