import TestKit
import Testing

/// A terminal with a person before it: a pseudo-terminal made by Python plays both.
///
/// What gets no further is killed, and the test fails with what was on the screen. No wall clock alone says so: beside all
/// other tests a right program may have to wait for minutes until its turn comes, or until the disk has taken its bytes.
struct PlayedTerminal {
  /// Characters of a line; 0: the terminal does not say.
  var columns = 0
  /// What is typed where a passphrase is asked for, one after the other, with `|` between them.
  var answers = ""
  /// What shows nothing for so many seconds, and neither works nor wants to, waits for what never comes; what has worked
  /// for as many never ends.
  var limit = 60

  /// Answers each question with the next text, then prints what was on the screen, and behind it what came of it.
  private static let player = """
    import fcntl, glob, os, pty, resource, select, signal, struct, sys, termios, time
    limit, columns = int(sys.argv[1]), int(sys.argv[2])
    answers, command = sys.argv[3].split('|'), sys.argv[4:]
    child, screen = pty.fork()
    if child == 0:
        if columns:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.execv(command[0], command)

    def worked():
        with open(f'/proc/{child}/stat') as file:
            return sum(int(ticks) for ticks in file.read().rpartition(')')[2].split()[11:13])

    def wants_to_work():
        for thread in glob.glob(f'/proc/{child}/task/*/stat'):
            try:
                with open(thread) as file:
                    if file.read().rpartition(')')[2].split()[0] in 'RD':
                        return True
            except OSError:
                pass  # it has ended meanwhile
        return False

    seen, asked, status, is_open = b'', 0, None, True
    tenth = os.sysconf('SC_CLK_TCK') // 10
    work, moved = 0, time.monotonic()
    end = moved + 600
    while status is None and time.monotonic() < min(end, moved + limit):
        if is_open and select.select([screen], [], [], 0.1)[0]:
            try:
                part = os.read(screen, 4096)
            except OSError:
                part = b''
            is_open = part != b''
            seen += part
            moved = time.monotonic()
        elif wants_to_work() or worked() >= work + tenth:
            work, moved = worked(), time.monotonic()
        if not is_open:
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
            time.sleep(0 if ended else 0.01)
        elif asked < len(answers) and seen.count(b'passphrase') > asked and seen.endswith(b': '):
            if termios.tcgetattr(screen)[3] & termios.ECHO:
                seen += b'[ECHO IS ON]'
            os.write(screen, answers[asked].encode().decode('unicode_escape').encode())
            asked += 1
    is_late = status is None
    if is_late:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    sys.stdout.buffer.write(seen)
    print(f"\\nasked {asked} status {os.waitstatus_to_exitcode(status)}")
    if is_late or os.WIFSIGNALED(status):
        sys.exit("it did not end by itself")
    """

  /// Runs a program to its end, or until it gets no further.
  func start(_ command: [String], of program: Program) async throws -> ProgramEnd {
    try await program.start(
      "/usr/bin/env", ["python3", "-c", Self.player, "\(limit)", "\(columns)", answers] + command)
  }

  /// What our program had on the screen, and on a last line how many questions were answered, and its status.
  func screen(of program: Program, _ arguments: [String]) async throws -> String {
    let ending = try await start([Program.path] + arguments, of: program)
    let screen = ending.output + ending.error
    #expect(ending.isSuccess, "\(screen)")
    return screen
  }
}
