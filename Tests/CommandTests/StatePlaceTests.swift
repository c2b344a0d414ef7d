import Glibc
import TestKit
import Testing

@testable import SealiftTool

/// The state folder is made where it is to be, and its name is as durable as the file system makes names.
@Suite struct StatePlaceTests {
  /// As folders that a virtual machine's host lends say of their names; a disk that fails says something else.
  @Test(arguments: [(EINVAL, true), (EOPNOTSUPP, true), (EIO, false)] as [(Int32, Bool)])
  func `a file system that cannot make names durable is no error, one that fails is`(_ number: Int32, _ isFine: Bool)
    async throws
  {
    await #expect(processExitsWith: .success) { [number = number as Int32, isFine = isFine as Bool] in
      let scratch = try Scratch()
      guard FailingCalls.fail(.fsync, with: number) else { fatalError("this kernel takes no filters") }
      let isMade = (try? StatePlace.make(scratch.file("state/below"))) != nil
      #expect(isMade == isFine)
      #expect((access(scratch.file("state/below"), F_OK) == 0) == isFine)
    }
  }

  @Test func `a home that is relative is none, and nothing is made below it`() async throws {
    var program = try Program()
    program.environment["HOME"] = "."
    for command in [["config", "check"], ["--target", "file://\(program.file("target"))", "list"]] {
      let ending = try await program.start(Program.path, ["--json"] + command)
      #expect(ending.status == 2, "\(command): \(ending.error)")
      #expect(try ending.errorDocument().code == "noStateFolder")
    }
    #expect(!program.exists(".local"))
  }

  /// What a shell of an older system has in it is no text, and what is made of it is another place.
  @Test(arguments: ["SEALIFT_STATE", "HOME", "XDG_CONFIG_HOME"])
  func `a place that is not UTF-8 is none`(_ variable: String) async throws {
    let program = try Program()
    let target = "file://\(program.file("target"))"
    let ending = try await program.shell(
      #"export \#(variable)="$PWD/$(printf 'caf\351')" && "$0" --json --target '\#(target)' list"#)
    #expect(ending.status == 2, "\(ending.error)")
    #expect(try ending.errorDocument().message.contains("\(variable) is not UTF-8"))
    #expect(try names(in: program.scratch.path) == ["home"])
  }

  @Test func `what is said of a working folder that is not UTF-8 leads nowhere else`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    let config = home.program.file("config.json")
    for command in ["restore app:latest --to x", "restore app:latest --replace --to x", "push ./x.db"] {
      // That the folder goes proves that nothing was made there.
      let ending = try await home.program.shell(
        #"d=$(printf 'caf\351') && mkdir "$d" && cd "$d" && { "$0" --json --config '\#(config)' \#(command); s=$?; }"#
          + #"; cd .. && rmdir "$d" && exit $s"#)
      #expect(ending.status == 2, "\(command): \(ending.error)")
      #expect(try ending.errorDocument().message.contains("is not UTF-8"), "\(command): \(ending.error)")
    }
  }

  @Test func `a relative state folder in a working folder that is gone is made nowhere`() async throws {
    let program = try Program()
    let ending = try await program.shell(
      "mkdir gone && cd gone && rmdir ../gone && SEALIFT_STATE=sealift-state \"$0\" --json config check")
    #expect(ending.status == 2, "\(ending.error)")
    #expect(try ending.errorDocument().code == "noStateFolder")
    #expect(access("/sealift-state", F_OK) != 0)
  }
}
