/// How requests travel; the same for all requests of a store.
package struct HTTPSettings: Sendable {
  /// A PEM file of certificate authorities to trust in place of the system's.
  package var caFile: String?
  /// In bytes a second, for each transfer; `nil` is without a limit.
  package var uploadLimit: Int?
  package var downloadLimit: Int?
  /// Requests on the wire at once.
  package var concurrency = 8
  package var connectTimeout = Duration.seconds(20)
  /// A transfer that hardly moves for so long is given up (`TransferPace`), but for answers that may be longer in the
  /// making (`HTTPRequest.patience`). There is no limit on its whole time: lines are slow.
  package var stallTimeout = Duration.seconds(60)

  package init() {}
}
