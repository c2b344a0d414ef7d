import Glibc

/// System calls that fail from now on, in every thread of this process and for good: for exit tests only. A filter of the
/// kernel's (seccomp), so it meets whoever makes the call.
package enum FailingCalls {
  package enum Call {
    case fsync
    /// `stat` and `lstat` of a path.
    case look
    case statx
    case flock

    fileprivate var number: UInt32 {
      #if arch(x86_64)
        switch self {
        case .fsync: 74
        case .look: 262
        case .statx: 332
        case .flock: 73
        }
      #elseif arch(arm64)
        switch self {
        case .fsync: 82
        case .look: 79
        case .statx: 291
        case .flock: 32
        }
      #endif
    }
  }

  /// Lets every such call fail with this error number.
  /// - Returns: false where the kernel does not take filters.
  package static func fail(_ call: Call, with error: Int32) -> Bool {
    #if arch(x86_64)
      let seccomp = 317
    #elseif arch(arm64)
      let seccomp = 277
    #endif
    // Load the call's number; is it the one? then the error, else allowed.
    let program = [
      Instruction(code: 0x20, k: 0), Instruction(code: 0x15, ifNot: 1, k: call.number),
      Instruction(code: 0x06, k: 0x0005_0000 | UInt32(error)), Instruction(code: 0x06, k: 0x7fff_0000),
    ]
    typealias Variadic = @convention(c) (Int, Int, Int, Int, Int) -> Int
    guard let library = dlopen(nil, RTLD_NOW), let prctl = dlsym(library, "prctl"),
      let syscall = dlsym(library, "syscall")
    else { return false }
    let noNewPrivileges = 38
    _ = unsafeBitCast(prctl, to: Variadic.self)(noNewPrivileges, 1, 0, 0, 0)
    return program.withUnsafeBufferPointer { instructions in
      var filter = Program(length: UInt16(instructions.count), instructions: instructions.baseAddress)
      return withUnsafePointer(to: &filter) { pointer in
        let (setFilter, allThreads) = (1, 1)
        let address = Int(bitPattern: pointer)
        return unsafeBitCast(syscall, to: Variadic.self)(seccomp, setFilter, allThreads, address, 0) == 0
      }
    }
  }

  /// `struct sock_filter`.
  private struct Instruction {
    var code: UInt16
    var ifSo: UInt8 = 0
    var ifNot: UInt8 = 0
    var k: UInt32
  }

  /// `struct sock_fprog`.
  private struct Program {
    var length: UInt16
    var instructions: UnsafePointer<Instruction>?
  }
}
