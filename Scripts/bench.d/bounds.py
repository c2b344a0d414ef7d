#!/usr/bin/python3
"""What bounds the targets that are not met, in words; the figures that show it stand in the report."""

import re, statistics

import targets
from figures import as_ratio, mebibytes, seconds, tells

PUSH = re.compile(r"time (?P<what>of a first push|after 1 % updates), `(?P<method>\w+)`, against (?P<rival>restic|Litestream)")
CHANGES = {"of a first push": "first", "after 1 % updates": "update1"}
RIVALS = {"restic": "restic", "Litestream": "litestream/once"}
SQLITE = {"vacuum": "limit/sqlite", "pages": "limit/sqlite-backup"}
"""The copy and its check by the same method, and nothing else."""

WHY = {
    "throughput of sealing": "a push into a folder is more than zstd: SQLite's copy and check, pages taken apart into cells, "
    "fingerprints, encryption and verification, in the shares of \"What bounds it\"",
    "throughput of a restore": "fingerprints of all pages, decryption, and cells put back, beside zstd",
    "local disk beyond what is kept": "beside the copy stand the packs that are on their way, and what finds equal pages in it",
    "mean bytes of 100 successive pushes": "the pages of a `.backup` copy stay where they were, so page-level deduplication of such "
    "copies meets fewer new ones than of vacuumed copies, which are what is pushed by default",
    "peak anonymous memory": "what the parallel lanes hold: blocks, packs on their way, contexts of zstd",
}


def unmet(figures):
    """A section for what is not met; nothing when all is."""
    size, rows = targets.rows(figures)
    missed = [(what, limit) for what, limit, _, _, verdict in rows if verdict is False]
    if not missed:
        return
    lines = [f"* **{what}**: {push(figures, size, what, limit) or reason(figures, size, what)}." for what, limit in missed]
    pushes = (
        "A push makes a copy with SQLite, has SQLite check it, and only then tells of a success; what these two take alone is told "
        "with each target (see also \"What SQLite alone takes\"). The rest is compression, fingerprints, encryption, and the "
        "verification of each pack before it is sent, which no rival does; after a change the new copy is also read and "
        "fingerprinted whole. How busy the cores are meanwhile stands in \"What bounds it\", *of the machine*.\n\n"
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


def reason(figures, size, what):
    measured = {"list of": a_list, "time that opening": opening, "time of a restore": restore, "growth of it": growth, "start of": start}
    for begin, tell in measured.items():
        if what.startswith(begin):
            return tell(figures, size, what)
    return next((why for begin, why in WHY.items() if what.startswith(begin)), "not looked into yet")


def a_list(figures, _, what):
    cold, by_passphrase = ", cold," in what, "by passphrase" in what
    name = f"list-{'cold' if cold else 'warm'}{'' if by_passphrase else '-key'}"
    cells = [cell for cell in figures.runs("events", "1M", "sealift/pages", name).values() if tells(cell, "wall")]
    wall, cpu, requests = (statistics.median(cell[metric] for cell in cells) for metric in ("wall", "cpu", "requests"))
    parts = [f"{seconds(cpu)} of CPU time of its own in {seconds(wall)}, and {requests:.0f} requests"]
    if cold:
        parts.append("one for each manifest, which the S3 server answers on the same cores")
    if by_passphrase and (derivation := targets.passphrase(figures)):
        parts.append(f"deriving the key (scrypt, meant to take that long) takes {seconds(derivation)} of it")
    return "; ".join(parts)


def opening(figures, size, what):
    return "scrypt with 128 MiB, on one core: what a guess costs whoever steals the repository"


def restore(figures, size, what):
    shares = next((cell["shares"] for cell in figures.runs("oltp", size, "sealift/vacuum+profile", "restore").values()), {})
    told = [f"{name} {share:.0%}" for name, share in sorted(shares.items(), key=lambda one: -one[1])[:4]]
    parts = [f"its CPU time goes to {', '.join(told)}"] if told else []
    if derivation := targets.passphrase(figures):
        parts.append(f"deriving the key from the passphrase comes first, alone, on one core: {seconds(derivation)}")
    return "; ".join([*parts, "the S3 server works on the same cores"])


def growth(figures, size, what):
    def peaks(of):
        return [
            cell["anonymous"]
            for (kind, s, tool, name), runs in figures.groups.items()
            if (kind, s, name) == ("oltp", of, "first") and tool.endswith("+key")
            for cell in runs.values()
        ]

    told = [
        f"{mebibytes(min(found))} to {mebibytes(max(found))} in {len(found)} first pushes of {of}iB"
        for of in ("1G", "10G")
        if (found := peaks(of))
    ]
    return f"how many blocks and packs the lanes hold at the same moment is chance: {', '.join(told)}"


def start(figures, size, what):
    other = figures.median("none", "0", "curl", "start", "wall")
    linker = "the dynamic linker binds libcurl and all that it needs"
    return f"{linker}: `curl --version`, which needs the same, takes {seconds(other)}" if other else linker
