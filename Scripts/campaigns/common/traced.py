#!/usr/bin/env python3
"""Runs a command under strace: which system calls it makes, and what it does when one of them fails."""
import collections, os, re

CALLS = ("openat read pread64 write pwrite64 fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat mkdir "
         "mkdirat ftruncate flock close newfstatat fstat lseek getdents64 fcntl").split()
NETWORK = "socket connect sendto sendmsg recvfrom recvmsg poll epoll_wait".split()
LINE = re.compile(r"^\d+\s+([a-z0-9_]+)\((.*)")
RESUMED = re.compile(r"^\d+\s+<\.\.\. [a-z0-9_]+ resumed>(.*)")


class Calls(collections.Counter):
    """How often each thread made each call; `own` are the (call, k) of any thread that were about the desk's own files, and
    `all_own` how many such there were of each call.

    A fault meets the k-th call of every thread: `strangers` says whether it met a call about something else, too,
    `voiceless` whether it met standard error, where a failure is told, and `ours_last` whether the last call that it met was
    one of `own`.
    """

    def __init__(self):
        super().__init__()
        self.own, self.all_own = set(), collections.Counter()
        self.strangers = self.voiceless = self.ours_last = False

    def excuse(self, status):
        """Whether a program with this status may have been ended by what a stranger's call met: the loader's, or a thread
        pool's look into /proc. It was not when a call of ours was the last one to fail.
        """
        return (status == 127 or status < 0) and self.strangers and not self.ours_last


def normal(arguments, folder):
    """What a call is about, without what differs from run to run."""
    text = arguments.replace(folder, "F")
    text = re.sub(r"0x[0-9a-f]+", "P", text)
    text = re.sub(r'"(?:[^"\\]|\\.)*"\.{0,3}', lambda m: re.sub(r"[0-9a-f]{8,}|\d+", "N", m.group(0)) if "F/" in m.group(0) else '"…"', text)
    text = re.sub(r"<([^>]*)>", lambda m: "<" + re.sub(r"[0-9a-f]{8,}|\d+", "N", m.group(1)) + ">", text)
    return re.sub(r"\d+", "N", text)[:160]


def strace(desk, arguments, calls, *options):
    """Runs `arguments`; the result, and the lines about calls: (thread, name, the rest). Other calls run at full speed."""
    log = f"{desk.folder}/trace"
    result = desk.run(*arguments, prefix=[
        "strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "64", "-o", log, "-e", "trace=" + ",".join(calls), "-e", "signal=none", *options])
    with open(log, errors="replace") as file:
        lines = calls_of(file)
    os.unlink(log)
    return result, lines


def calls_of(log):
    """The calls that a log tells of. One during which another thread was told of stands there in two halves."""
    calls, begun = [], {}
    for line in log:
        thread = line.split(" ", 1)[0]
        if match := LINE.match(line):
            begun[thread] = len(calls)
            calls.append((thread, *match.groups()))
        elif (match := RESUMED.match(line)) and thread in begun:
            _, name, rest = calls[begun[thread]]
            calls[begun[thread]] = thread, name, rest + match[1]
    return calls


def trace(desk, arguments, calls=CALLS):
    """Runs `arguments`; the result, and the calls seen by (name, thread) as `Calls`."""
    result, lines = strace(desk, arguments, calls)
    made = Calls()
    for thread, name, rest in lines:
        made[name, thread] += 1
        if desk.folder in rest:
            made.own.add((name, made[name, thread]))
        if desk.folder in rest or name in NETWORK:
            made.all_own[name] += 1
    return result, made


def fail(desk, arguments, point, error):
    """Runs `arguments`; at a point (call, k) the k-th such call of each thread fails.

    Returns the result, what was met as `Calls`, and which call of ours failed: (name, about what, which of these), or None
    when none did.
    """
    result, lines = strace(desk, arguments, point[:1], "-e", f"inject={point[0]}:error={error}:when={point[1]}")
    return result, *met(lines, desk.folder)


def met(lines, folder):
    """What the faults of a run have met, and which call of ours was the first of them."""
    made, seen, hit = Calls(), collections.Counter(), None
    for thread, name, rest in lines:
        made[name, thread] += 1
        about = (name, normal(rest, folder))
        seen[about] += 1
        if "(INJECTED)" not in rest:
            continue
        made.ours_last = folder in rest
        if not made.ours_last:
            made.strangers = True
            made.voiceless = made.voiceless or name == "write" and rest.startswith("2<")
        elif hit is None:
            hit = (*about, seen[about])
    return made, hit


def points(made, rng):
    """(call, k) of every call about the desk's own files, or to the network: spread over the kinds of call, in an order the seed decides."""
    rows = {name: rng.sample(range(1, count + 1), count) for name, count in made.all_own.items()}
    while any(rows.values()):
        for name in sorted(rows):
            if rows[name]:
                yield name, rows[name].pop()
