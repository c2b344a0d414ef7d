/// What is done with a copy that is complete.
extension SnapshotRun {
  /// - Returns: nil when no check was asked for, and nothing looked like damage.
  func checkCopy(_ copy: Copy) throws -> CheckOutcome? {
    try watch.check()
    let damage = copy.damage.map { CheckOutcome.damaged([$0]) }
    guard request.check || damage != nil else { return nil }
    try progress(report(.checking, 0, (fileSize(image) ?? 0) / pageSize))
    watch.whileWorking = { [self] in
      try occasionally { try progress(report(.checking, 0, (fileSize(image) ?? 0) / pageSize)) }
    }
    defer { watch.whileWorking = {} }
    let outcome = try refusing(image) { try quickCheck(image, watch) }
    // What was found in the source itself says so.
    if case .damaged = outcome, look?.outcome.isDamaged != true { return outcome }
    return damage ?? outcome
  }

  /// - Returns: how many free pages became zeros.
  func normalise(_ finished: Image, _ copy: Copy, _ check: CheckOutcome?) throws -> Int {
    switch copy.method {
    case .vacuum:
      try finished.restoreJournalMode(isWAL: copy.isWAL)
      return 0
    case .pages:
      if let header = copy.header { try finished.restoreCounters(of: header) }
      guard !request.keepFreePages, FreePages.mayBecomeZeros(after: check) else { return 0 }
      return try finished.zeroFreePages()
    }
  }
}
