/// How long an object becomes, so that its length tells little (`Docs/Format.md` §4.6).
enum Padding {
  static func padded(_ length: Int) -> Int {
    if length < 65_536 {
      var size = 4096
      while size < length { size *= 2 }
      return size
    }
    // Padmé: as many low bits become zero as keeps the overhead below 12 %, in practice 3 %.
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask
  }
}
