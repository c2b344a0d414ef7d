import Operations
import Sealing
import Testing

@Suite struct ErrorKindTests {
  @Test(arguments: SealError.Code.allCases)
  func `a library without memory is no damage and no wrong key`(code: SealError.Code) {
    let kind: OperationError.Kind =
      switch code {
      case .failed: .failed
      case .wrongKey: .wrongKey
      case .damaged, .truncated, .unsupported, .malformed: .verificationFailed
      }
    #expect(OperationError(SealError(code, "zstd could not decompress")).kind == kind)
  }
}
