import Logging
import Sealift

/// One run of one command: its terminal, its configuration, its world, and how it ends.
final class Session: Sendable {
  let options: GlobalOptions
  let terminal: Terminal
  private let signals: Signals

  init(_ options: GlobalOptions, _ signals: Signals) {
    self.options = options
    self.signals = signals
    let terminal = Terminal(Terminal.Manner(options))
    self.terminal = terminal
    LoggingSystem.bootstrap { label in TerminalLog(terminal, label: label) }
  }

  /// Performs the command and returns the exit status. A first signal cancels the work, which then cleans up.
  func run(_ command: any SealiftCommand) async -> Int32 {
    let work = Task {
      signals.noteBegun()
      return try await command.perform(in: self)
    }
    signals.onFirst { work.cancel() }
    let result = await work.result
    terminal.clearBar()
    switch result {
    case .success(.success): return terminal.unsaid.map(told) ?? ExitStatus.success.rawValue
    case .success(let status):
      terminal.unsaid.map(terminal.tell)
      return status.rawValue
    case .failure(let error):
      terminal.unsaid.map(terminal.tell)
      return told(error)
    }
  }

  private func told(_ error: any Error) -> Int32 {
    let known = OperationError(error)
    let signal = signals.received
    let told = signal.map { Self.ended(by: $0, known) } ?? known
    terminal.tell(told)
    terminal.tellDocument(told)
    return signal.map { 128 + $0 } ?? ExitStatus(known.kind).rawValue
  }

  /// What is told of a run that a signal ended. An error that is no mere interruption says how things stand now.
  static func ended(by signal: Int32, _ error: OperationError) -> OperationError {
    let meaning = ExitStatus(rawValue: 128 + signal)?.meaning ?? "interrupted"
    let isMore = error.kind != .cancelled
    return OperationError(
      .cancelled, code: "cancelled", isMore ? "\(meaning): \(error.message)" : meaning,
      hint: error.hint, cause: error)
  }

  func configuration() throws -> Configuration {
    let configuration = try ConfigurationFile.load(named: options.config)
    terminal.debug("configuration: \(configuration.file ?? "none")")
    return configuration
  }

  /// The machine as operations see it. Makes the state folder.
  /// - Parameter readOnly: the operation only reads, and does without a state folder that cannot be made.
  func world(_ configuration: Configuration, readOnly: Bool = false) throws -> World {
    let folder = try StatePlace(configuration).path
    do {
      try StatePlace.make(folder)
    } catch {
      guard readOnly else { throw error }
      terminal.debug("state: \(error)")
    }
    terminal.debug("state: \(folder)")
    var world = World(
      stateFolder: folder, host: configuration.host, now: { UInt64(max(0, wallMilliseconds())) },
      reporter: TerminalReporter(terminal))
    world.rememberOpenedSlots()
    if let limit = configuration.baseLimit { world.baseLimit = limit }
    world.configuredFolders = configuration.ownFolders(options.targets)
    return world
  }
}

/// Operations report here.
private struct TerminalReporter: Reporter {
  private let terminal: Terminal
  init(_ terminal: Terminal) { self.terminal = terminal }
  func progress(_ progress: Progress) { terminal.progress(progress) }
  func notice(_ text: String) { terminal.notice(text) }
  func detail(_ text: String) { terminal.debug(text) }
}
