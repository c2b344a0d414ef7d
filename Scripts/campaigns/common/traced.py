#!/usr/bin/env python3
"""Runs a command under strace: which system calls it makes, and what it does when one of them fails."""
import collections, os, re

CALLS = ("openat read pread64 write pwrite64 fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat mkdir "
         "mkdirat ftruncate flock close newfstatat fstat lseek getdents64 fcntl").split()
NETWORK = "socket connect sendto sendmsg recvfrom recvmsg poll epoll_wait".split()
LINE = re.compile(r"^\d+\s+([a-z0-9_]+)\((.*)")


class Calls(collections.Counter):
    """How often each thread made each call; `own` are the (call, k) of any thread that were about the desk's own files, and
    `all_own` how many such there were of each call.

    A fault meets the k-th call of every thread: `strangers` says whether it met a call about something else, too, and
    `voiceless` whether it met standard error, where a failure is told.
    """

    def __init__(self):
        super().__init__()
        self.own, self.all_own, self.strangers, self.voiceless = set(), collections.Counter(), False, False


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
        lines = [(line.split()[0], *match.groups()) for line in file if (match := LINE.match(line))]
    os.unlink(log)
    return result, lines


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

    Returns the result, what was met as `Calls`, and what failed: (name, about what, which of these), or None when nothing did.
    """
    result, lines = strace(desk, arguments, point[:1], "-e", f"inject={point[0]}:error={error}:when={point[1]}")
    made, seen, hit = Calls(), collections.Counter(), None
    for thread, name, rest in lines:
        made[name, thread] += 1
        about = (name, normal(rest, desk.folder))
        seen[about] += 1
        if "(INJECTED)" not in rest:
            continue
        if desk.folder not in rest:
            made.strangers = True
            made.voiceless = made.voiceless or name == "write" and rest.startswith("2<")
        if made[name, thread] == point[1] and hit is None:
            hit = (*about, seen[about])
    return result, made, hit


def points(made, rng):
    """(call, k) of every call about the desk's own files, or to the network: spread over the kinds of call, in an order the seed decides."""
    rows = {name: rng.sample(range(1, count + 1), count) for name, count in made.all_own.items()}
    while any(rows.values()):
        for name in sorted(rows):
            if rows[name]:
                yield name, rows[name].pop()
