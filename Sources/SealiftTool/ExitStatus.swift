import Sealift

/// What the program ends with. Scripts rely on these numbers: they are only ever added to.
enum ExitStatus: Int32, CaseIterable {
  case success = 0
  case failed = 1
  case usage = 2
  case partlyDone = 3
  case noRepository = 10
  case pushInProgress = 11
  case wrongKey = 12
  case verificationFailed = 13
  case noSuchVersion = 14
  case sourceUnreadable = 15
  case hungUp = 129
  case interrupted = 130
  case terminated = 143

  /// The one switch from errors to numbers.
  init(_ kind: OperationError.Kind) {
    switch kind {
    case .failed: self = .failed
    case .usage: self = .usage
    case .partlyDone: self = .partlyDone
    case .noRepository: self = .noRepository
    case .pushInProgress: self = .pushInProgress
    case .wrongKey: self = .wrongKey
    case .verificationFailed: self = .verificationFailed
    case .noSuchVersion: self = .noSuchVersion
    case .sourceUnreadable: self = .sourceUnreadable
    case .cancelled: self = .interrupted
    }
  }

  var meaning: String {
    switch self {
    case .success: "done"
    case .failed: "failed"
    case .usage: "wrong usage or configuration"
    case .partlyDone: "partly done: a database, target or companion failed, the rest is safe"
    case .noRepository: "no repository at the target, or its folder is not there"
    case .pushInProgress: "someone else is pushing this database"
    case .wrongKey: "the key does not open the repository"
    case .verificationFailed: "verification failed: damaged, forged or rolled back"
    case .noSuchVersion: "no such version, database or key"
    case .sourceUnreadable: "the database cannot be read"
    case .hungUp: "its terminal went away (SIGHUP)"
    case .interrupted: "interrupted (SIGINT)"
    case .terminated: "terminated (SIGTERM)"
    }
  }

  /// As `--help` shows it: one line for each status.
  static var table: String {
    allCases.map { status in
      let number = "\(status.rawValue)"
      return "  " + String(repeating: " ", count: 3 - number.count) + "\(number)  \(status.meaning)"
    }
    .joined(separator: "\n")
  }
}
