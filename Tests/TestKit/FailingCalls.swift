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
    case link
    /// To read at a place of a file.
    case read
    /// To open a folder for reading, as whoever makes the names in it durable does.
    case openFolder
    /// To give an open file away.
    case giveAway

    fileprivate var number: UInt32 {
      #if arch(x86_64)
        switch self {
        case .fsync: 74
        case .look: 262
        case .statx: 332
        case .flock: 73
        case .link: 86
        case .read: 17
        case .openFolder: 257
        case .giveAway: 93
        }
      #elseif arch(arm64)
        switch self {
        case .fsync: 82
        case .look: 79
        case .statx: 291
        case .flock: 32
        // `linkat`, there is no other.
        case .link: 37
        case .read: 67
        case .openFolder: 56
        case .giveAway: 55
        }
      #endif
    }

    /// The third argument of those that are meant; all when `nil`.
    fileprivate var flags: UInt32? { self == .openFolder ? UInt32(O_RDONLY | O_DIRECTORY | O_CLOEXEC) : nil }
  }

  /// Lets every such call fail with this error number.
  /// - Returns: false where the kernel does not take filters.
  package static func fail(_ call: Call, with error: Int32) -> Bool {
    #if arch(x86_64)
      let seccomp = 317
    #elseif arch(arm64)
      let seccomp = 277
    #endif
    // Load the call's number, and its flags; are they the ones? then the error, else allowed.
    let ofFlags = call.flags.map { [Instruction(code: 0x20, k: 32), Instruction(code: 0x15, ifNot: 1, k: $0)] } ?? []
    let program =
      [Instruction(code: 0x20, k: 0), Instruction(code: 0x15, ifNot: UInt8(1 + ofFlags.count), k: call.number)]
      + ofFlags
      + [Instruction(code: 0x06, k: 0x0005_0000 | UInt32(error)), Instruction(code: 0x06, k: 0x7fff_0000)]
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
