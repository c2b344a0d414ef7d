#!/usr/bin/python3
"""What bounds the targets that are not met: in words, beside the measured cells that show it."""

import re, statistics

import targets
from figures import as_ratio, in_bytes, mebibytes, megabytes, plural, seconds, tells

PUSH = re.compile(
    r"time (?P<what>of a first push|after 1 % updates), `(?P<method>\w+)`, against (?P<rival>restic|Litestream)"
)
CHANGES = {"of a first push": "first", "after 1 % updates": "update1"}
RIVALS = {"restic": "restic", "Litestream": "litestream/once"}
SQLITE = {"vacuum": "limit/sqlite", "pages": "limit/sqlite-backup"}
"""The copy and its check by the same method, and nothing else."""
SHOW = {"wall": seconds, "cpu": seconds, "sent": megabytes}


def unmet(figures):
    """A section for what is not met; nothing when all is."""
    size, rows = targets.rows(figures)
    missed = [row for row in rows if row.verdict is False]
    if not missed:
        return
    lines = [f"* **{row.what}**: {push(figures, size, row) or reason(figures, size, row)}." for row in missed]
    pushes = (
        "A push makes a copy with SQLite, has SQLite check it, and only then tells of a success. What the `sqlite3` "
        "program takes for these two, one after the other, is told with each target; where the whole push is faster "
        'than that, it bounds nothing (see also "What SQLite alone takes"). The rest is compression, fingerprints, '
        "encryption, and the verification of each pack before it is sent, which no rival does; after a change the new "
        "copy is also read and fingerprinted whole. How busy the cores are meanwhile stands in "
        '"What bounds it", *of the machine*.\n\n'
        if any(PUSH.match(row.what) for row in missed)
        else ""
    )
    yield "### What is not met, and what bounds it\n\n" + pushes + "\n".join(lines)


def push(figures, size, row):
    """How much of the rival's time SQLite's copy and check take alone, and where the push's own time goes; None for
    what is no time of a push, and where that was not measured.
    """
    asked = PUSH.match(row.what)
    if not asked:
        return None
    method, change, rival = asked["method"], CHANGES[asked["what"]], RIVALS[asked["rival"]]
    alone, whole = (
        figures.ratios("oltp", size, tool, rival, change, "wall") for tool in (SQLITE[method], f"sealift/{method}")
    )
    if not alone or not whole:
        return None
    allowed = float(row.limit.removeprefix("≤ ").removesuffix(" ×"))
    return joined(
        floor(statistics.median(alone), statistics.median(whole), allowed, len(alone)),
        "beside them a first push has SQLite check the live database itself (Decisions/0027), which is not in that"
        if (method, change) == ("vacuum", "first")
        else None,
        profile(figures, size, method, change, "the push's"),
    )


def floor(alone, whole, allowed, runs):
    """A push that is faster than SQLite's two steps, one after the other, is not bounded by what they take so."""
    steps = f"SQLite's copy and check alone, one after the other, take {as_ratio(alone)} ({plural(runs, 'run')})"
    if whole <= alone:
        return f"{steps}, and the whole push takes {as_ratio(whole)}: they bound nothing"
    return steps + (f", more than the whole push may: ≤ {as_ratio(allowed)}" if alone > allowed else "")


def profile(figures, size, method, what, whose):
    """Where the CPU time of a step goes, and how busy the cores are; None where no run was sampled."""
    cell = next(iter(figures.runs("oltp", size, f"sealift/{method}+profile", what).values()), {})
    if not cell.get("shares"):
        return None
    shares = sorted(cell["shares"].items(), key=lambda one: -one[1])[:5]
    cores, busy = cell["cpu"] / cell["wall"], cell["busy"] / cell["wall"]
    return (
        f"{whose} CPU time goes to {', '.join(f'{name} {share:.0%}' for name, share in shares)}; it keeps {cores:.1f} "
        f"cores busy, {busy:.1f} with the S3 server and the measuring (one run, by key file)"
    )


def reason(figures, size, row):
    return next(tell(figures, size, row) for begin, tell in REASONS.items() if row.what.startswith(begin))


def joined(*parts):
    """The parts that there are figures for."""
    return "; ".join(part for part in parts if part) or "no cell tells more of it"


def median(cells, metric):
    """Over cells that can be believed; None when there is none."""
    found = [cell[metric] for cell in cells if tells(cell, metric)]
    return statistics.median(found) if found else None


def sides(figures, row):
    """What a ratio is made of, each side by its median."""
    told = []
    for kind, size, tool, what, metric in row.between:
        if (value := figures.median(kind, size, tool, what, metric)) is not None:
            told.append(f"{tool} {SHOW[metric](value)}")
    return f"in the median {', '.join(told)}" if told else None


def requests(cells):
    """The median of requests, and what they were in one of the runs."""
    count, methods = median(cells, "requests"), next((cell["methods"] for cell in cells if "methods" in cell), {})
    told = ", ".join(f"{number} {method}" for method, number in sorted(methods.items()))
    return None if count is None else f"{count:.0f} requests" + (f" ({told})" if told else "")


def of_a_change(figures, size, row):
    cells = [cell for *key, _ in row.between[:1] for cell in figures.runs(*key).values()]
    told = requests(cells)
    return joined(sides(figures, row), told and f"ours in {told}, each with headers and a signature")


def of_a_push_without_floor(figures, size, row):
    return joined(sides(figures, row), "what SQLite's copy and check take alone was not measured beside it")


def of_each_change(figures, size, row):
    """The changes for which more is sent than zstd would write, the worst first, or the largest parts of the sum."""
    known = {}
    for change in targets.CHANGES:
        ours, theirs = (
            figures.median("oltp", size, tool, change, "sent") for tool in ("sealift/vacuum", "limit/patch")
        )
        if ours is not None and theirs:
            known[change] = ours, theirs
    whole = row.what.startswith("the same, summed")
    chosen = sorted(known, key=lambda change: -(known[change][0] if whole else known[change][0] / known[change][1]))
    chosen = [change for change in chosen if whole or known[change][0] > known[change][1]][:3]
    told = [f"{change} {megabytes(known[change][0])} against {megabytes(known[change][1])}" for change in chosen]
    return joined(
        f"{'the most is sent after' if whole else 'above zstd are'} {', '.join(told)}" if told else None,
        "zstd has both versions before it, and writes neither manifest nor encryption, nor what a store needs to find "
        "and prove the parts",
    )


def of_a_series(figures, size, row):
    """How the mean of many pushes comes about: some of them carry most of it."""
    of, name = row.series
    sent = {
        number: next(iter(cells.values()))
        for number in range(1, 1000)
        if (cells := figures.runs("oltp", of, "sealift/vacuum", f"{name}-{number:03}"))
    }
    if not sent:
        return joined(None)
    largest = sorted(sent, key=lambda number: -sent[number]["sent"])[:5]
    share = sum(sent[number]["sent"] for number in largest) / sum(cell["sent"] for cell in sent.values())
    told = ", ".join(f"{megabytes(sent[n]['sent'])} at {n} ({sent[n].get('change', name)})" for n in largest)
    parts = [f"the {len(largest)} greatest of {len(sent)} pushes are {share:.0%} of all that was sent: {told}"]
    if "`.backup`" in row.what:
        parts.append(
            "the pages of a `.backup` copy stay where they were, so page-level deduplication of such copies meets "
            "fewer new ones than of vacuumed copies, which are what is pushed by default"
        )
    return joined(*parts)


def of_what_is_fetched(figures, size, row):
    of, name = row.series
    needs, first = (figures.runs("oltp", of, "sealift/vacuum", f"{name}-{what}") for what in ("needs", "000"))
    fetched = [one for cell in needs.values() for one in cell["fetched"]]
    stored = median(list(first.values()), "stored")
    return joined(
        f"of {len(fetched)} versions the one that needs most fetches {megabytes(max(fetched))}, the median "
        f"{megabytes(statistics.median(fetched))}"
        if fetched
        else None,
        stored and f"the first push stored {megabytes(stored)}",
        "what a restore fetches grows with the deltas since the images it rests on, until a push stores anew",
    )


def of_any_version(figures, size, row):
    of, name = row.series
    walls, received = (
        targets.restores_of_any(figures, of, "sealift/vacuum", name, metric) for metric in ("wall", "received")
    )
    later = [number for number in walls if number]
    if not later or 0 not in walls:
        return joined(None)
    slowest = max(later, key=walls.get)
    told = [f"version {n} takes {seconds(walls[n])} and receives {megabytes(received.get(n))}" for n in (slowest, 0)]
    return joined("; ".join(told), f"each by passphrase, in {plural(row.runs, 'run')}")


def of_nothing_changed(figures, size, row):
    cells = list(figures.runs("oltp", size, "sealift/vacuum", "unchanged").values())
    begun = figures.median("none", "0", "sealift/vacuum", "start", "wall")
    wall, cpu = (seconds(median(cells, metric)) for metric in ("wall", "cpu"))
    took = f"{wall} with {cpu} of CPU time, {requests(cells)}" if cells else None
    return joined(took, begun and f"starting the command takes {seconds(begun)} of it")


def of_one_page(figures, size, row):
    of, name = row.series or ("10G", None)
    cell = (of, "sealift/vacuum", f"{name}-onepage") if name else (of, "sealift/vacuum+key", "onepage")
    cells = list(figures.runs("oltp", *cell).values())
    sent = megabytes(median(cells, "sent"))
    return joined(
        f"{sent} in {requests(cells)}, each with headers and a signature" if cells else None,
        "beside the delta a push stores a manifest and what finds the parts",
    )


def of_sealing(figures, size, row):
    return joined(
        beside_zstd(figures, size, "seal", "zstd", copied=True),
        "a push into a folder is more than zstd: SQLite's copy and check, fingerprints, encryption and verification, "
        'in the shares of "What bounds it"',
    )


def of_unsealing(figures, size, row):
    return joined(
        beside_zstd(figures, size, "unseal", "unzstd"), "beside zstd stand fingerprints of all pages, and decryption"
    )


def beside_zstd(figures, size, ours, plain, copied=False):
    def told(tool, what):
        wall, cpu = (figures.median("oltp", size, tool, what, metric) for metric in ("wall", "cpu"))
        return None if wall is None or cpu is None else f"{what} takes {seconds(wall)} and {seconds(cpu)} of CPU time"

    parts = [told("sealift/pages+key", ours), told("zstd", plain)]
    if copied and (copy := figures.median("oltp", size, "zstd", "copy", "wall")):
        parts.append(f"SQLite's copy alone, which zstd is given ready-made, {seconds(copy)}")
    return ", ".join(filter(None, parts)) or None


def of_a_list(figures, size, row):
    cold, with_passphrase = ", cold," in row.what, "by passphrase" in row.what
    name = f"list-{'cold' if cold else 'warm'}{'' if with_passphrase else '-key'}"
    cells = list(figures.runs("events", "1M", "sealift/pages", name).values())
    wall, cpu = (median(cells, metric) for metric in ("wall", "cpu"))
    derivation = targets.passphrase(figures)
    return joined(
        cells and f"{seconds(cpu)} of CPU time of its own in {seconds(wall)}, and {requests(cells)}",
        "one for each manifest, which the S3 server answers on the same cores" if cold else None,
        with_passphrase
        and derivation
        and f"deriving the key (scrypt, meant to take that long) takes {seconds(derivation)} of it",
    )


def of_opening(figures, size, row):
    return "scrypt with 128 MiB, on one core: what a guess costs whoever steals the repository"


def of_a_restore(figures, size, row):
    """The restore that was sampled is the one after 1 % updates."""
    (*ours, _), (*theirs, _) = row.between
    asked, other = requests(figures.runs(*ours).values()), figures.median(*theirs, "requests")
    told = profile(figures, size, row.what.split("`")[1], "restore", "the restore's")
    derivation = targets.passphrase(figures)
    return joined(
        sides(figures, row),
        asked and other and f"ours makes {asked}, restic {other:.0f}",
        told and f"after 1 % updates {told}",
        derivation and f"deriving the key from the passphrase comes first, alone, on one core: {seconds(derivation)}",
        "the S3 server works on the same cores",
    )


def of_growth(figures, size, row):
    small, large = (targets.by_key_file(figures, of, targets.ALIKE) for of in ("1G", "10G"))
    told = [
        f"{targets.method_of(tool)} {what} {peaks(small[tool, what])} → {peaks(large[tool, what])}"
        for tool, what in sorted(small.keys() & large.keys())
    ]
    return joined(
        f"peaks of 1 GiB ({counted(small)}) and of 10 GiB ({counted(large)}): {', '.join(told)}" if told else None,
        "no cell tells whether another run of 10 GiB would take as much" if fewest(large) == 1 else None,
    )


def peaks(cells):
    """The least and the greatest of all runs; one figure where people read them as the same."""
    told = [mebibytes(of(cell["anonymous"] for cell in cells)) for of in (min, max)]
    return "–".join(dict.fromkeys(told))


def fewest(groups):
    return min(map(len, groups.values()), default=0)


def counted(groups):
    return plural(fewest(groups), "run")


def of_a_peak(figures, size, row):
    if "passphrase" in row.what:
        found = targets.by_passphrase(figures)
    else:
        by_key = targets.by_key_file(figures, row.what.split(", ")[-1].removesuffix("iB"))
        found = [cell for cells in by_key.values() for cell in cells]
    most = max(found, key=lambda cell: cell["anonymous"], default=None)
    return joined(
        most and f"the greatest is {mebibytes(most['anonymous'])}, of {most['tool']}, {most['what']}, {most['size']}iB",
        "scrypt's 128 MiB are a part of it" if "passphrase" in row.what else None,
        "what the parallel lanes hold: blocks, packs on their way, contexts of zstd",
    )


def of_disk(figures, size, row):
    cells = targets.pushes_on_disk(figures, row.what.split("`")[1], sustained="sustained" in row.what)
    most = max(cells, key=lambda cell: cell["disk"] / cell["database"], default=None)
    return joined(
        most
        and f"up to {megabytes(most['disk'])} beyond what was kept, beside a database of {megabytes(most['database'])} "
        f"({most['kind']}, {most['size']}iB, {most['tool']}, {most['what']})",
        most and f"after it {megabytes(most['kept'])} are kept",
        "beside the copy stand the packs that are on their way, and what finds equal pages in it",
    )


def of_the_copy(figures, size, row):
    largest = max(targets.page_copies(figures), key=lambda cell: in_bytes(cell["size"]), default=None)
    return joined(
        largest
        and f"the copy of a database of {megabytes(largest['database'])} and what stands beside it take "
        f"{megabytes(largest['disk'])} ({largest['size']}iB, {largest['what']})",
        "a stream into the packs would hold the database until the last pack has left; that is why none is built",
    )


def of_starting(figures, size, row):
    other = figures.median("none", "0", "curl", "start", "wall")
    linker = "the dynamic linker binds libcurl and all that it needs"
    return f"{linker}: `curl --version`, which needs the same, takes {seconds(other)}" if other else linker


REASONS = {
    "bytes sent after": of_a_change,
    "bytes sent against `zstd": of_each_change,
    "the same, summed": of_each_change,
    "mean bytes of": of_a_series,
    "bytes that a restore of one version": of_what_is_fetched,
    "bytes sent in a first push": of_a_change,
    "time of a first push": of_a_push_without_floor,
    "time after 1 % updates": of_a_push_without_floor,
    "throughput of sealing": of_sealing,
    "push of an unchanged": of_nothing_changed,
    "one changed page": of_one_page,
    "time of a restore": of_a_restore,
    "restore of the sustained versions": of_any_version,
    "throughput of a restore": of_unsealing,
    "peak anonymous memory": of_a_peak,
    "growth of it": of_growth,
    "time that opening": of_opening,
    "local disk beyond what is kept": of_disk,
    "local disk beyond the base": of_the_copy,
    "list of": of_a_list,
    "start of": of_starting,
}
"""How the title of a target begins → what tells why it was missed. There is one for each: selftest.py looks."""
