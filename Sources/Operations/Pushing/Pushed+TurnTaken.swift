extension Push.Pushed {
  /// What is told of two machines that push under one name in turn: an old one that comes back when a new one has taken its
  /// place, or a clone. No place of their chain is taken twice, so neither is stopped; but what is newest is now the one's
  /// content, now the other's, and rules keep one as if it were the other. All versions are safe. Exit status 3.
  package var turnTaken: OperationError? {
    guard let pushedElsewhere else { return nil }
    return OperationError(
      .partlyDone, code: "pushedElsewhere",
      "\(version.target): version \(pushedElsewhere) of '\(version.database)' was pushed by another machine, or with another state folder, under the name '\(version.host)' since the last push from here",
      hint:
        "If that was a restore to another machine and back, or this one was put back to an earlier state, nothing need be done. Else stop one of them, or give it a \"host\" of its own in its configuration, or another \"fork\" for the database: its next push begins a chain of its own. Any version is restored by its id."
    )
  }
}
