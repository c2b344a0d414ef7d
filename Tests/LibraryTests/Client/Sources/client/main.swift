import Sealift

// Pushes the database at the first argument into a new repository in the folder at the second, and pulls it to the third.
let arguments = CommandLine.arguments
guard arguments.count == 4 else { fatalError("usage: client DATABASE FOLDER FILE") }
let key = Repository.Key.keyFile(content: (0..<64).map { _ in UInt8.random(in: 0...255) })
let repository = try await Repository.create(
  at: .folder("\(arguments[2])/target"), key: key, state: "\(arguments[2])/state")
let pushed = try await repository.push(.database(named: "app", at: arguments[1])) { _ in }
let pulled = try await repository.pull(pushed.version.id, to: arguments[3])
let copy = try await Snapshot.take(of: .file(pulled.path), method: .pages)
guard case .ok? = copy.check else { fatalError("the copy is not sound") }
// What lives until the process ends is released by nobody.
copy.remove()
do {
  try await repository.pull("latest", to: arguments[3])
  fatalError("a file that exists was replaced")
} catch let error as SealiftError where error.kind == .usage {
  print("\(pushed.version.database) \(pushed.version.size) bytes, \(copy.pageCount) pages")
}
