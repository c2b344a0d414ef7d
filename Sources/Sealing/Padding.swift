/// How long an object becomes, so that its length tells little (`Docs/Format.md` §4.6).
enum Padding {
  static func padded(_ length: Int) -> Int {
    if length < 65_536 {
      var size = 4096
      while size < length { size *= 2 }
      return size
    }
    let mask = step(length) - 1
    return (length + mask) & ~mask
  }

  /// Bytes of padding in an object that is so long, padding included: the mean over all lengths that are padded to it.
  static func mean(in length: Int) -> Int {
    if length <= 4096 { return length / 2 }
    return length <= 65_536 ? length / 4 : step(length - 1) / 2
  }

  /// Padmé: as many low bits become zero as keeps the overhead below 12 %, in practice 3 %.
  private static func step(_ length: Int) -> Int {
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - exponent.leadingZeroBitCount
    return 1 << (exponent - kept)
  }
}
