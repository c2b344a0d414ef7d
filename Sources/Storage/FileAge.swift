package import Glibc

/// Seconds from a time of a file until now; negative where that is ahead. Some file systems keep times that no difference
/// takes: such are 30,000 years away.
package func secondsSince(_ time: timespec) -> Int {
  Glibc.time(nil) - min(max(time.tv_sec, -1 << 40), 1 << 40)
}
