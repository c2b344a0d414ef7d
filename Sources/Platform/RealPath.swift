/// The path of what is there, with every symbolic link resolved; `nil`, and `errno`, when nothing is there, or when that
/// cannot be told.
package func realPath(_ path: String) -> String? {
  // The system would take what stands before it for the whole path.
  guard !path.utf8.contains(0) else {
    errno = ENOENT
    return nil
  }
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}
