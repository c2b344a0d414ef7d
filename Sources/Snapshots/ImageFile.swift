import Platform

/// Makes the file of a copy by ourselves, with mode 0600 whatever the umask is; SQLite then writes into it, and gives
/// its -journal the same mode.
/// - Throws: `.spool`.
func makeImageFile(_ image: String) throws(SnapshotError) {
  let file = open(image, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  guard file >= 0 else {
    throw SnapshotError(
      .spool, "the file \(image) cannot be made: \(words(errno))", hint: "Check that the state folder is writable.")
  }
  close(file)
}

/// Removes it with its side files.
func removeImage(_ image: String) {
  for ending in sideFileEndings + [""] { unlink(image + ending) }
}
