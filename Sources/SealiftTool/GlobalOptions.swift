import ArgumentParser

/// The options every command takes. They stand on the root and in each command: ArgumentParser parses a group of one
/// type once, at the root, wherever on the line its options are, and hands the same value to the command.
struct GlobalOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp(
      "Read this configuration file, else SEALIFT_CONFIG, else the usual places (Docs/Configuration.md).",
      valueName: "file"), completion: .file(extensions: ["json"]))
  var config: String?

  @Option(
    name: .customLong("target"), parsing: .singleValue,
    help: ArgumentHelp(
      """
      A target's name from the configuration, or its URL; of databases that are not named, those that go there. \
      May be given more than once.
      """, valueName: "name|url"))
  var targets: [String] = []

  @Flag(help: "Results and errors as JSON (Docs/Json.md).")
  var json = false

  @Flag(name: .shortAndLong, help: "Only results and errors: no remarks, no progress.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Say what is being done, on standard error.")
  var verbose = false

  @Flag(help: "No progress bar and no progress lines.")
  var noProgress = false

  @Option(
    help: ArgumentHelp("Read the passphrase from this open file descriptor.", valueName: "n"))
  var passphraseFd: Int32?

  @Option(
    help: ArgumentHelp("Read the passphrase from this file (mode 600).", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Option(
    help: ArgumentHelp("Open the repository with this key file (mode 600).", valueName: "file"), completion: .file())
  var keyFile: String?

  @Option(
    help: ArgumentHelp(
      "Open the repository with the recovery key written in this file (mode 600).", valueName: "file"),
    completion: .file())
  var recoveryKeyFile: String?

  @Option(help: ArgumentHelp("At most so many bytes a second to targets, such as 5MiB.", valueName: "rate"))
  var limitUpload: String?

  @Option(help: ArgumentHelp("At most so many bytes a second from targets, such as 20MiB.", valueName: "rate"))
  var limitDownload: String?

  func validate() throws {
    if quiet && verbose { throw ValidationError("-q and -v exclude each other") }
    let sources = [passphraseFd.map { "\($0)" }, passphraseFile, keyFile, recoveryKeyFile].compactMap { $0 }
    if sources.count > 1 {
      throw ValidationError(
        "give one of --passphrase-fd, --passphrase-file, --key-file and --recovery-key-file, not several")
    }
  }
}
