#!/usr/bin/env python3
"""Do the campaigns see what they look for? Each check gives them something made up whose meaning is known. The tests run it."""
import sys

sys.dont_write_bytecode = True
from traced import calls_of, met

OURS = '7 openat(AT_FDCWD, "/desk/state", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)'
OTHER = '8 openat(AT_FDCWD, "/desk/target", O_RDONLY) = 3</desk/target>'
LOADER = '7 openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)'
ERROR = '7 write(2</dev/null>, "sealift: error", 14) = -1 EIO (Input/output error) (INJECTED)'
HALVES = ['7 openat(AT_FDCWD, "/desk/state", O_RDONLY <unfinished ...>', OTHER,
          "7 <... openat resumed>) = -1 EIO (Input/output error) (INJECTED)"]


def of_crashes():
    """What a log tells, and how the program ended: whether a call of ours was met, and whether a stranger may have ended it."""
    return {
        "a crash after a fault of ours": (seen([OTHER, OURS], -11), (True, False)),
        "a crash after a stranger's fault and one of ours": (seen([LOADER, OURS], -11), (True, False)),
        "a crash after one of ours and a stranger's": (seen([OURS, LOADER], -11), (True, True)),
        "a loader without a library": (seen([LOADER], 127), (False, True)),
        "a crash without a fault": (seen([OTHER], -11), (False, False)),
        "an error after a stranger's fault": (seen([LOADER], 1), (False, False)),
        "a fault that is told in two halves": (seen(HALVES, -6), (True, False)),
        "standard error that cannot be written": (met(calls_of([ERROR]), "/desk/")[0].voiceless, True),
    }


def seen(log, status):
    made, hit = met(calls_of(log), "/desk/")
    return hit is not None, made.excuse(status)


def main():
    wrong = {what: pair for what, pair in of_crashes().items() if pair[0] != pair[1]}
    for what, (found, expected) in wrong.items():
        print(f"WRONG {what}: {found} (expected {expected})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
