/// Runs work on a thread of its own, which ends with it. A disk or a lock that is waited for takes no thread from Swift's
/// tasks then.
/// - Returns: 0, or the error number of `pthread_create`: the work is not done then.
package func startThread(_ run: @escaping @Sendable () -> Void) -> Int32 {
  let body = Unmanaged.passRetained(ThreadBody(run))
  #if canImport(Darwin)
    var thread: pthread_t?
    let code = pthread_create(&thread, nil, { runBody($0) }, body.toOpaque())
    if let thread, code == 0 { pthread_detach(thread) }
  #else
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, { runBody($0) }, body.toOpaque())
    if code == 0 { pthread_detach(thread) }
  #endif
  if code != 0 { body.release() }
  return code
}

/// What is told where `startThread` fails.
package enum ThreadRefusal {
  /// - Parameter code: the error number.
  package static func message(_ code: Int32) -> String {
    "no thread could be started: \(String(cString: strerror(code)).lowercased())"
  }

  package static let hint =
    "Raise TasksMax= or --pids-limit, the limit on the user's processes (ulimit -u), or the one on memory; a Docker "
    + "before 20.10.10 refuses threads to newer C libraries (clone3)."
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
