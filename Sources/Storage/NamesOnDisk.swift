import Glibc

/// `fsync` of a folder: makes the names in it durable.
///
/// Some file systems have no such thing and say EINVAL of it (shared folders of VirtualBox, 9p, CIFS of old kernels):
/// what more could be done there is not known, and is no error. One that fails is.
/// - Returns: 0, or -1 with `errno` set.
package func synchronizeNames(in descriptor: Int32) -> Int32 {
  let outcome = fsync(descriptor)
  return outcome != 0 && (errno == EINVAL || errno == EOPNOTSUPP) ? 0 : outcome
}
