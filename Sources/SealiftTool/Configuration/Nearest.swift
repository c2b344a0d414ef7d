/// What somebody probably meant.
enum Nearest {
  /// The known word that is the fewest edits away, when that is few enough to be a slip of the finger.
  static func match(for word: String, among known: [String]) -> String? {
    let limit = max(1, word.count / 3 + 1)
    return known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
      .filter { $0.distance <= limit }
      .min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
  }

  /// What other programs call our commands.
  private static let commandsElsewhere = ["backup": "push", "ls": "list", "snapshots": "list"]

  /// The same of a command.
  static func command(for word: String, among known: [String]) -> String? {
    if let ours = commandsElsewhere[word.lowercased()], known.contains(ours) { return ours }
    return match(for: word, among: known)
  }

  /// Levenshtein's distance, with a swap of neighbours as one edit.
  static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var rows = [Array(0...right.count)]
    for i in 0..<left.count {
      var row = [i + 1]
      for j in 0..<right.count {
        var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}

/// Keys that people write with the secret itself behind them.
enum InlineSecrets {
  /// What to write instead; `nil` when the key does not smell of a secret.
  static func advice(for key: String) -> String? {
    switch key.lowercased().filter({ $0.isLetter }) {
    case "passphrase": "Write passphraseFile or passphraseCommand, or set SEALIFT_PASSPHRASE_FILE."
    case "password": "Write passwordFile or passwordCommand."
    case "secretkey", "secretaccesskey", "secret", "awssecretaccesskey":
      "Write secretKeyFile or secretKeyCommand, name a profile of the shared credentials file, or set AWS_SECRET_ACCESS_KEY."
    case "sessiontoken", "token": "Write sessionTokenFile, or set AWS_SESSION_TOKEN."
    case "key", "recoverykey": "Write keyFile; for a recovery key use --recovery-key-file."
    default: nil
    }
  }
}
