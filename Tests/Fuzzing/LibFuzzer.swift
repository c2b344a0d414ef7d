import Glibc

/// The one parser that this program feeds: `SEALIFT_FUZZ` names it. Without a name it lists them all; with
/// `SEALIFT_FUZZ_SEEDS` it writes the seeds of each into a folder of its own there.
private let parser: Parser = {
  let name = variable("SEALIFT_FUZZ")
  guard let parser = parsers[name] else {
    let (folder, vectors) = (variable("SEALIFT_FUZZ_SEEDS"), VectorSeeds(variable("SEALIFT_FUZZ_VECTORS")))
    for name in parsers.keys.sorted() {
      print(name)
      if !folder.isEmpty { write(Seeds.of(name, vectors), to: "\(folder)/\(name)") }
    }
    // libFuzzer ends the process without writing what is buffered.
    fflush(nil)
    exit(2)
  }
  return parser
}()

private func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }

private func write(_ seeds: [[UInt8]], to folder: String) {
  mkdir(folder, 0o755)
  for (index, seed) in seeds.enumerated() {
    guard let file = fopen("\(folder)/seed-\(index)", "w") else { fatalError("a seed cannot be written") }
    demand(fwrite(seed, 1, seed.count, file) == seed.count && fclose(file) == 0, "a seed cannot be written")
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  parser(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
