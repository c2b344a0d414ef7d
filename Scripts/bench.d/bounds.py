#!/usr/bin/python3
"""What bounds the targets that are not met, in words; the figures that show it stand in the report."""

import re, statistics

import targets
from figures import as_ratio

PUSH = re.compile(r"time (?P<what>of a first push|after 1 % updates), `(?P<method>\w+)`, against (?P<rival>restic|Litestream)")
CHANGES = {"of a first push": "first", "after 1 % updates": "update1"}
RIVALS = {"restic": "restic", "Litestream": "litestream/once"}
SQLITE = {"vacuum": "limit/sqlite", "pages": "limit/sqlite-backup"}
"""The copy and its check by the same method, and nothing else."""

WHY = {
    "throughput of sealing": "a push into a folder is more than zstd: SQLite's copy and check, pages taken apart into cells, "
    "fingerprints, encryption and verification, in the shares of \"What bounds it\"",
    "time of a restore": "zstd, SHA-256 and AES-GCM take about half of the time, the kernel a quarter (sockets, the file), by the "
    "profile; the S3 server works on the same cores, and deriving the key from the passphrase comes first, alone, on one core",
    "throughput of a restore": "fingerprints of all pages, decryption, and cells put back, beside zstd",
    "local disk beyond what is kept": "beside the copy stand the packs that are on their way, and what finds equal pages in it",
    "list of": "by passphrase nearly all of it is the derivation of the key (scrypt, meant to take that long); by key file stands "
    "beside it. Cold, each manifest is a request",
    "mean bytes of 100 successive pushes": "the pages of a `.backup` copy stay where they were, so page-level deduplication of such "
    "copies meets fewer new ones than of vacuumed copies, which are what is pushed by default",
    "start of the command": "the dynamic linker, which binds libcurl and all it needs",
    "peak anonymous memory": "what the parallel lanes hold: blocks, packs on their way, contexts of zstd",
}


def unmet(figures):
    """A section for what is not met; nothing when all is."""
    size, rows = targets.rows(figures)
    missed = [(what, limit) for what, limit, _, _, verdict in rows if verdict is False]
    if not missed:
        return
    lines = [f"* **{what}**: {push(figures, size, what, limit) or reason(what)}." for what, limit in missed]
    pushes = (
        "A push makes a copy with SQLite, has SQLite check it, and only then tells of a success; what these two take alone is told "
        "with each target (see also \"What SQLite alone takes\"). The rest is compression, fingerprints, encryption, and the "
        "verification of each pack before it is sent, which no rival does; after a change the new copy is also read and "
        "fingerprinted whole. Both cores are busy meanwhile (\"What bounds it\", *of the machine*).\n\n"
        if any(PUSH.match(what) for what, _ in missed)
        else ""
    )
    yield "### What is not met, and what bounds it\n\n" + pushes + "\n".join(lines)


def push(figures, size, what, limit):
    """How much of the rival's time SQLite's copy and check take alone; None for what is no time of a push, or was not measured."""
    asked = PUSH.match(what)
    if not asked:
        return None
    one, change = SQLITE[asked["method"]], CHANGES[asked["what"]]
    found = figures.ratios("oltp", size, one, RIVALS[asked["rival"]], change, "wall")
    if not found:
        return None
    alone, allowed = statistics.median(found), float(limit.removeprefix("≤ ").removesuffix(" ×"))
    said = f"SQLite's copy and check alone, one after the other, take {as_ratio(alone)} ({len(found)} runs)"
    return said + f", more than the whole push may: {limit}" if alone > allowed else said


def reason(what):
    return next((why for begin, why in WHY.items() if what.startswith(begin)), "not looked into yet")
