extension Restore {
  /// Whoever uses the database has to meet our locks, and to see what is written.
  /// - Parameter tables: only tables are restored, and all else has to stay.
  /// - Throws: `.failed`, code `untrustedLocks` or `mountedAlone`.
  func demandInSight(_ real: String, tables: Bool = false) throws {
    try LockTrust.demand(real, tables: tables)
    try LockTrust.demandNoLockFolder(real)
    try OtherNames(of: real, isMountPoint)?.demandThisOne(tables: tables)
  }

  /// What is worth a remark where it is done all the same.
  func tellOtherNames(of real: String) {
    if let remark = OtherNames(of: real, isMountPoint)?.remark { world.reporter.notice(remark) }
  }
}

extension OtherNames {
  private var fact: String {
    isMounted ? "the file \(real) is mounted by itself" : "the file \(real) has another name (a hard link)"
  }

  /// In WAL mode SQLite would write beside this name what whoever uses the other one never reads; and the -wal that is
  /// there would be applied to what was restored.
  /// - Throws: `.failed`, code `mountedAlone`, unless somebody uses this very name.
  fileprivate func demandThisOne(tables: Bool) throws {
    guard isWAL == true, !isInUse else { return }
    throw OperationError(
      .failed, code: "mountedAlone",
      "\(fact), it is in WAL mode, and nobody has it open by this name: whoever uses the other one has a -wal and locks "
        + "that are not seen here, and would not see what is restored",
      hint: isMounted
        ? "Mount the folder of the database, so that its -wal and -shm are there too, or restore where that folder is."
        : "Name the file as its application does, while that has it open; where nobody uses it, remove the other name, or "
          + (tables ? "restore the whole version beside it and copy the rows." : "restore with --replace."))
  }

  /// In rollback mode the locks are the file's own.
  fileprivate var remark: String? {
    guard isWAL == false else { return nil }
    return
      "\(fact): until it is restored, SQLite's journal stands beside this name only. If that is cut short, open the database "
      + "by this name before anybody uses the other one: only so it is rolled back"
  }

  /// Somebody is in the -shm beside this name.
  private var isInUse: Bool { LockTrust.isShared(real) }
}
