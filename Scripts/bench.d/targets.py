#!/usr/bin/python3
"""The targets that Sealift was built for, each with the figure that was measured and whether it is met."""

import statistics

from figures import as_ratio, in_bytes, mebibytes, megabytes, seconds, tells

SERIES = {"mixed": "mixed changes", "update1": "1 % updates alone"}
SUSTAINED = [
    "sealift/vacuum",
    "sealift/pages",
    "restic/vacuum",
    "restic/backup",
    "duplicity/vacuum",
    "duplicity/backup",
    "limit/pagelevel",
    "limit/pagelevel-backup",
]
METHODS = ("vacuum", "pages")
CHANGES = ["update0.1", "update0.1grow", "update1", "update1grow", "append1", "delete30", "schema", "vacuum"]


def rows(figures):
    """(what, at least, measured, runs, verdict): verdict is None when nothing was measured."""
    sizes = figures.sizes("oltp")
    size = sizes[-1] if sizes else "1G"
    return size, [
        *changes(figures, size),
        *sustained(figures),
        *pushes(figures, size),
        *restores(figures, size),
        *resources(figures, sizes),
    ]


def at_most(what, limit, value, show=as_ratio, note="", runs=None):
    """A row; `runs` is of how many the value is the median, None where it is no median."""
    verdict = None if value is None else value <= limit
    return what, f"≤ {show(limit)}", show(value) + note, "" if runs is None else str(runs), verdict


def at_least(what, limit, value, runs):
    return what, f"≥ {as_ratio(limit)}", as_ratio(value), str(runs), None if value is None else value >= limit


def ratio(figures, what, limit, *arguments, **more):
    """A row of a median of ratios."""
    found = figures.ratios(*arguments, **more)
    return at_most(what, limit, statistics.median(found) if found else None, runs=len(found))


def changes(figures, size):
    limits = {
        "update0.1": {"restic": 1 / 100, "borg": 1 / 100, "duplicity": 1 / 12, "litestream/daemon": 1 / 3},
        "update1": {"restic": 1 / 30, "borg": 1 / 30, "duplicity": 1 / 12, "litestream/daemon": 1 / 2},
    }
    for what, rivals in limits.items():
        for rival, limit in rivals.items():
            title = f"bytes sent after {what[6:]} % updates, against {rival.replace('/', ' ')}"
            yield ratio(figures, title, limit, "oltp", size, "sealift/vacuum", rival, what, "sent")
    each = {what: figures.ratio("oltp", size, "sealift/vacuum", "limit/patch", what, "sent") for what in CHANGES}
    known = {what: value for what, value in each.items() if value is not None}
    worst = max(known, key=known.get, default=None)
    yield unless_partial(
        len(known),
        at_most(
            "bytes sent against `zstd -3 --long=31 --patch-from`, each change",
            1.0,
            known.get(worst),
            note=f" ({worst}, the worst of {len(known)})" if worst else "",
        ),
    )
    summed = [found for run in figures.all_runs("oltp", size, "limit/patch") if (found := sums(figures, size, run))]
    yield at_most("the same, summed over all", 0.55, statistics.median(summed) if summed else None, runs=len(summed))


def sums(figures, size, run):
    """The ratio of what all changes of one run sent; None unless all were measured."""
    ours, theirs = (
        [figures.of_run("oltp", size, tool, what, "sent", run) for what in CHANGES]
        for tool in ("sealift/vacuum", "limit/patch")
    )
    return None if None in ours + theirs else sum(ours) / sum(theirs)


def unless_partial(count, row):
    """The worst of some changes may not be the worst of all."""
    return row if count in (0, len(CHANGES)) else (*row[:-1], None)


def series(figures, tool, name, metric="sent"):
    """The pushes 1, 2, 3 … of a sustained series, in order; those whose time says nothing have none."""
    found, number = [], 1
    while cells := figures.runs("oltp", "64M", tool, f"{name}-{number:03}"):
        values = [cell[metric] for cell in cells.values() if tells(cell, metric)]
        found += [statistics.median(values)] if values else []
        number += 1
    return found


def best_mean(figures, tools, name):
    means = [statistics.mean(found) for tool in tools if (found := series(figures, tool, name))]
    return min(means, default=None)


def sustained(figures):
    for name, title in SERIES.items():
        ours = best_mean(figures, ["sealift/vacuum"], name)
        for rival, limit, tools in (
            ("page-level deduplication with zstd of vacuumed copies", 1 / 7, ["limit/pagelevel"]),
            ("the same of `.backup` copies", 1 / 7, ["limit/pagelevel-backup"]),
            ("restic", 1 / 14, ["restic/vacuum", "restic/backup"]),
        ):
            theirs = best_mean(figures, tools, name)
            count = len(series(figures, "sealift/vacuum", name))
            yield at_most(
                f"mean bytes of {count or 100} successive pushes, {title}, against {rival}",
                limit,
                ours / theirs if ours and theirs else None,
            )
        needs, first = (figures.runs("oltp", "64M", "sealift/vacuum", f"{name}-{what}") for what in ("needs", "000"))
        value = max(needs[1]["fetched"]) / first[1]["stored"] if needs.get(1) and first.get(1) else None
        yield at_most(f"stored bytes that one version needs, {title}, against a first push", 2.0, value)


def pushes(figures, size):
    def of(title, limit, one, other, what, metric="wall"):
        return ratio(figures, title, limit, "oltp", size, one, other, what, metric)

    yield of("bytes sent in a first push, against restic", 1.05, "sealift/vacuum", "restic", "first", "sent")
    for method, first, small, once in (("pages", 0.35, 0.15, 0.3), ("vacuum", 0.45, 0.35, 0.5)):
        ours, restic = f"sealift/{method}", "restic with its copy"
        yield of(f"time of a first push, `{method}`, against {restic}", first, ours, "restic", "first")
        yield of(f"time after 1 % updates, `{method}`, against {restic}", small, ours, "restic", "update1")
        title = f"time after 1 % updates, `{method}`, against Litestream `replicate -once`"
        yield of(title, once, ours, "litestream/once", "update1")
    yield speed(figures, "throughput of sealing, against zstd -1 on all cores", size, "zstd", "seal")
    walls = figures.values("oltp", size, "sealift/vacuum", "unchanged", "wall")
    unchanged = statistics.median(walls) if walls else None
    requests = figures.median("oltp", size, "sealift/vacuum", "unchanged", "requests")
    yield (
        "push of an unchanged database",
        "≤ 30 ms, 0 requests",
        f"{seconds(unchanged)}, {requests or 0:.0f} requests" if unchanged is not None else "–",
        str(len(walls)),
        None if unchanged is None else unchanged <= 0.030 and requests == 0,
    )
    one = figures.median("oltp", "10G", "sealift/vacuum+key", "onepage", "sent")
    yield at_most("one changed page in a 10 GiB database, bytes sent", 64 << 10, one, show=megabytes)


def speed(figures, what, size, plain, ours):
    """How fast this is beside zstd alone, of the same bytes."""
    tool = "sealift/pages+key"
    found = figures.ratios("oltp", size, "zstd", tool, plain, "wall", other_what=ours)
    return at_least(what, 0.6, statistics.median(found) if found else None, len(found))


def restores(figures, size):
    title = "time of a restore, against restic"
    yield ratio(figures, title, 0.6, "oltp", size, "sealift/vacuum", "restic", "restore", "wall")
    for name in ("mixed", "update1"):
        walls = [
            figures.median("oltp", "64M", "sealift/vacuum", f"{name}-any{number:03}", "wall")
            for number in range(0, 101, 10)
        ]
        known = [wall for wall in walls[1:] if wall is not None]
        yield at_most(
            f"restore of the sustained versions ({name}), the slowest of every tenth, against the first",
            2.5,
            max(known) / walls[0] if known and walls[0] else None,
        )
    yield speed(figures, "throughput of a restore, against zstd -d", size, "unzstd", "unseal")


def resources(figures, sizes):
    def peak(size):
        """Of both methods; None while a push, one after a change, or a restore was not measured."""
        found = {}
        for (_, of, tool, what), runs in figures.groups.items():
            if of == size and tool.endswith("+key"):
                found[tool, what] = max(cell["anonymous"] for cell in runs.values())
        small = "onepage" if size == "10G" else "update1"
        needed = [(f"sealift/{method}+key", what) for method in METHODS for what in ("first", small, "restore")]
        return max(found.values()) if found.keys() >= set(needed) else None

    keyed = {of for _, of, tool, _ in figures.groups if tool.endswith("+key")}
    for size in sorted(keyed.union(sizes, ["10G"]), key=in_bytes):
        yield at_most(f"peak anonymous memory, push and restore, {size}iB", 96 << 20, peak(size), show=mebibytes)
    growth = peak("10G") / peak("1G") if peak("10G") and peak("1G") else None
    yield at_most("growth of it from 1 GiB to 10 GiB", 1.10, growth)
    by_passphrase = [
        cell["anonymous"]
        for (_, _, tool, _), runs in figures.groups.items()
        if tool in ("sealift/vacuum", "sealift/pages")
        for cell in runs.values()
    ]
    yield at_most(
        "peak anonymous memory when opened by passphrase", 160 << 20, max(by_passphrase, default=None), show=mebibytes
    )
    derivation = passphrase(figures)
    yield at_most("time that opening by passphrase takes, of a list", 0.6, derivation, show=seconds)
    for method in METHODS:
        yield from disk(figures, method, sizes[-1] if sizes else "1G")
    for name, limit in (("cold", 1.5), ("warm", 0.1)):
        for key, by in (("", "by passphrase"), ("-key", "by key file")):
            cells = figures.runs("events", "1M", "sealift/pages", f"list-{name}{key}").values()
            walls = [cell["wall"] for cell in cells if tells(cell, "wall")]
            versions = max((cell["versions"] for cell in cells), default=1000)
            title, wall = f"list of {versions:,} versions, {name}, {by}", statistics.median(walls) if walls else None
            yield at_most(title, limit, wall, show=seconds, runs=len(walls))
    yield start_of_command(figures)


def passphrase(figures):
    """How much longer a warm list takes by passphrase than by key file, in seconds: nothing else differs."""
    slow, fast = (
        figures.median("events", "1M", "sealift/pages", f"list-warm{key}", "wall") for key in ("", "-key")
    )
    return slow - fast if slow is not None and fast is not None else None


def disk(figures, method, size):
    """After 1 % updates of the large database, and, the greatest, over the pushes of the sustained series."""

    def parts(of, tools, names, metric):
        return [
            cell[metric] / cell["database"]
            for (kind, s, tool, what), runs in figures.groups.items()
            if (kind, s) == ("oltp", of) and tools(tool) and names(what)
            for cell in runs.values()
            if "database" in cell and metric in cell
        ]

    def ours(tool):
        return tool.startswith(f"sealift/{method}")

    once = parts(size, ours, lambda what: what == "update1", "disk")
    many = [
        max(parts("64M", lambda tool: tool == f"sealift/{method}", in_series, metric), default=None)
        for metric in ("disk", "kept")
    ]
    beside = f"local disk beyond what is kept, while pushing, `{method}`, against the database"
    yield at_most(f"{beside}: after 1 % updates", 1.0, max(once, default=None))
    note = f" (kept: up to {as_ratio(many[1])})" if many[1] else ""
    yield at_most(f"{beside}: sustained pushes, the greatest", 1.0, many[0], note=note)


def in_series(what):
    name, _, number = what.rpartition("-")
    return name in SERIES and number.isdigit() and int(number) > 0


def start_of_command(figures):
    walls = figures.values("none", "0", "sealift/vacuum", "start", "wall")
    start = statistics.median(walls) if walls else None
    return at_most("start of the command", 0.015, start, show=seconds, runs=len(walls))
