extension stat {
  /// When the content was last changed.
  package var modificationTime: timespec {
    #if canImport(Darwin)
      st_mtimespec
    #else
      st_mtim
    #endif
  }

  /// When content, owner, mode or the number of names was last changed.
  package var statusChangeTime: timespec {
    #if canImport(Darwin)
      st_ctimespec
    #else
      st_ctim
    #endif
  }
}
