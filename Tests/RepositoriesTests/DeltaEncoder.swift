import CZstd

/// Compresses with a prefix, as the writer of delta frames will (`Docs/Format.md` §4.4, codec 2).
func compress(_ bytes: [UInt8], withPrefix prefix: [UInt8]) -> [UInt8] {
  let context = ZSTD_createCCtx()!
  defer { ZSTD_freeCCtx(context) }
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3)
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 21)
  ZSTD_CCtx_refPrefix(context, prefix, prefix.count)
  var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
  let count = ZSTD_compress2(context, &output, output.count, bytes, bytes.count)
  precondition(ZSTD_isError(count) == 0)
  return Array(output.prefix(count))
}
