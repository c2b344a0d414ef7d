import Logging

/// swift-log's lines, for `-v`: they are remarks like all others. Metadata is not shown: nobody has to wonder whether a
/// secret is in it.
struct TerminalLog: LogHandler {
  private let terminal: Terminal
  private let label: String
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level

  init(_ terminal: Terminal, label: String) {
    self.terminal = terminal
    self.label = label
    logLevel = terminal.manner.verbose ? .debug : .critical
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { terminal.debug("\(label): \(event.message)") }
}
