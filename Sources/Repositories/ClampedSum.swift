extension Sequence<Int> {
  /// Of sizes as a listing says them: one that says too much must not be the end of us.
  package var clampedSum: Int {
    reduce(0) { sum, size in
      let (result, isTooMuch) = sum.addingReportingOverflow(size)
      return isTooMuch ? .max : result
    }
  }
}
