// The C library of the system, by whatever name it goes there: what is to be built elsewhere too imports this module, and
// calls only what POSIX and the BSDs have as well.
#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Glibc
#endif
