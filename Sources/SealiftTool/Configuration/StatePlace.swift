import Glibc
import Sealift

/// The folder where this machine remembers what it pushed and saw: by the configuration, `SEALIFT_STATE`,
/// `$XDG_STATE_HOME/sealift`, `~/.local/state/sealift`, the first that is given.
struct StatePlace {
  let path: String
  /// As `config check` shows it.
  let from: String

  init(_ configuration: Configuration) throws {
    if let path = configuration.stateFolder {
      (self.path, from) = (try Paths.fromRoot(path), configuration.file ?? "configuration")
    } else if let path = Environment.filled("SEALIFT_STATE") {
      (self.path, from) = (try Paths.fromRoot(path), "environment SEALIFT_STATE")
    } else if let path = Environment.folder("XDG_STATE_HOME") {
      // One that is relative is to be passed over, by the rules for these variables.
      (self.path, from) = ("\(path)/sealift", "environment XDG_STATE_HOME")
    } else if let path = Environment.folder("HOME") {
      (self.path, from) = ("\(path)/.local/state/sealift", "default")
    } else {
      throw OperationError(
        .usage, code: "noStateFolder", "no folder is known for the state of this machine",
        hint: "Set HOME or SEALIFT_STATE to an absolute path, or stateFolder in the configuration.")
    }
    // It would come to lie below the root.
    guard path.hasPrefix("/") else {
      throw OperationError(
        .usage, code: "noStateFolder",
        "the state folder \(path) (\(from)) is relative, and the working folder is not there any more",
        hint: "Name it by an absolute path, or change to a folder that is there.")
    }
  }

  /// Makes the folder and its parents, for the owner only.
  static func make(_ path: String) throws {
    var made = ""
    for part in PathSteps.of(path) {
      let parent = made.isEmpty ? "/" : made
      made += "/\(part)"
      if mkdir(made, 0o700) == 0 {
        try makeNamesDurable(in: parent)
      } else {
        let number = errno
        guard number == EEXIST || number == EISDIR || Paths.isFolder(made) else {
          throw refusal("cannot make the state folder \(made): \(String(cString: strerror(number)))")
        }
      }
      if let planted = PlantedEntry.refusal(of: made, in: parent, foldersToo: true) { throw refusal(planted) }
    }
  }

  /// What is written durably in a folder is lost with its name.
  private static func makeNamesDurable(in folder: String) throws {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, synchronizeNames(in: descriptor) == 0 else {
      throw refusal("cannot make durable what was made in \(folder): \(String(cString: strerror(errno)))")
    }
  }

  private static func refusal(_ message: String) -> OperationError {
    OperationError(
      .usage, code: "stateFolder", message,
      hint: "Name a folder where this user alone can write: stateFolder in the configuration, or SEALIFT_STATE.")
  }
}
