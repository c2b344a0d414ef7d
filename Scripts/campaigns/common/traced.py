#!/usr/bin/env python3
"""Runs a command under strace: which system calls it makes, and what it does when one of them kills it or fails."""
import collections, os, re

CALLS = ("openat read pread64 write pwrite64 fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat mkdir "
         "mkdirat ftruncate flock close newfstatat fstat lseek getdents64 fcntl").split()
NETWORK = "socket connect sendto sendmsg recvfrom recvmsg poll epoll_wait".split()
LINE = re.compile(r"^\d+\s+([a-z0-9_]+)\((.*)")


class Calls(collections.Counter):
    """How often each thread made each call; `own` are the (call, k) of any thread that were about the desk's own files.

    A fault meets the k-th call of every thread: `strangers` says whether it met a call about something else, too, and
    `voiceless` whether it met standard error, where a failure is told.
    """

    def __init__(self):
        super().__init__()
        self.own, self.strangers, self.voiceless = set(), False, False


def normal(arguments, folder):
    """What a call is about, without what differs from run to run."""
    text = arguments.replace(folder, "F")
    text = re.sub(r"0x[0-9a-f]+", "P", text)
    text = re.sub(r'"(?:[^"\\]|\\.)*"\.{0,3}', lambda m: re.sub(r"[0-9a-f]{8,}|\d+", "N", m.group(0)) if "F/" in m.group(0) else '"…"', text)
    text = re.sub(r"<([^>]*)>", lambda m: "<" + re.sub(r"[0-9a-f]{8,}|\d+", "N", m.group(1)) + ">", text)
    return re.sub(r"\d+", "N", text)[:160]


def trace(desk, arguments, point=None, inject="signal=SIGKILL", calls=CALLS):
    """Runs `arguments`; with a point (call, k) the k-th such call of a thread meets what `inject` says.

    Returns the result, the calls seen by (name, thread) as `Calls`, and what the point hit: (name, about what, which of
    these), or None when the run never came to it.
    """
    log = f"{desk.folder}/trace"
    options = ["-e", f"inject={point[0]}:{inject}:when={point[1]}"] if point else []
    result = desk.run(*arguments, prefix=["strace", "-f", "-qq", "-y", "-s", "64", "-o", log, "-e", "trace=" + ",".join(calls), *options])
    made, seen, hit = Calls(), collections.Counter(), None
    with open(log, errors="replace") as file:
        for line in file:
            match = LINE.match(line)
            if not match:
                continue
            name, rest = match.groups()
            thread = line.split()[0]
            made[name, thread] += 1
            if desk.folder in rest:
                made.own.add((name, made[name, thread]))
            elif "(INJECTED)" in rest:
                made.strangers = True
                made.voiceless = made.voiceless or name == "write" and rest.startswith("2<")
            about = (name, normal(rest, desk.folder))
            seen[about] += 1
            # A killed call is printed without its result: it never returned. A failed one says (INJECTED).
            if point and name == point[0] and made[name, thread] == point[1] and hit is None:
                if "signal" in inject or "(INJECTED)" in rest:
                    hit = (*about, seen[about])
    os.unlink(log)
    return result, made, hit


def points(made, rng, only=None):
    """Many points, spread over the kinds of call, in an order the seed decides."""
    highest = {}
    for (name, _), count in made.items():
        if only is None or name in only:
            highest[name] = max(highest.get(name, 0), count)
    rows = {name: rng.sample(range(1, count + 1), count) for name, count in highest.items()}
    while any(rows.values()):
        for name in sorted(rows):
            if rows[name]:
                yield name, rows[name].pop()
