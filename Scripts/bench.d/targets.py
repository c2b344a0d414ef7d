#!/usr/bin/python3
"""The targets that Sealift was built for, each with the figure that was measured and whether it is met."""

import statistics

from figures import as_ratio, in_bytes, mebibytes, megabytes, seconds

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
CHANGES = ["update0.1", "update0.1grow", "update1", "update1grow", "append1", "delete30", "schema", "vacuum"]


def rows(figures):
    """(what, at least, measured, verdict): verdict is None when nothing was measured."""
    sizes = figures.sizes("oltp")
    size = sizes[-1] if sizes else "1G"
    return size, [
        *changes(figures, size),
        *sustained(figures),
        *pushes(figures, size),
        *restores(figures, size),
        *resources(figures, sizes),
    ]


def at_most(what, limit, value, show=as_ratio, note=""):
    return what, f"≤ {show(limit)}", show(value) + note, None if value is None else value <= limit


def changes(figures, size):
    limits = {
        "update0.1": {"restic": 1 / 100, "borg": 1 / 100, "duplicity": 1 / 12, "litestream/daemon": 1 / 3},
        "update1": {"restic": 1 / 30, "borg": 1 / 30, "duplicity": 1 / 12, "litestream/daemon": 1 / 2},
    }
    for what, rivals in limits.items():
        for rival, limit in rivals.items():
            yield at_most(
                f"bytes sent after {what[6:]} % updates, against {rival.replace('/', ' ')}",
                limit,
                figures.ratio("oltp", size, "sealift/vacuum", rival, what, "sent"),
            )
    each = {what: figures.ratio("oltp", size, "sealift/vacuum", "limit/patch", what, "sent") for what in CHANGES}
    known = {what: value for what, value in each.items() if value is not None}
    worst = max(known, key=known.get, default=None)
    yield at_most(
        "bytes sent against `zstd -3 --long=31 --patch-from`, each change",
        1.0,
        known.get(worst),
        note=f" ({worst}, the worst of {len(known)})" if worst else "",
    )
    ours, theirs = (
        [figures.median("oltp", size, tool, what, "sent") for what in known]
        for tool in ("sealift/vacuum", "limit/patch")
    )
    yield at_most("the same, summed over all", 0.55, sum(ours) / sum(theirs) if known else None)


def series(figures, tool, name, metric="sent"):
    """The pushes 1, 2, 3 … of a sustained series, in order."""
    found = []
    while cells := figures.runs("oltp", "64M", tool, f"{name}-{len(found) + 1:03}"):
        found.append(statistics.median(cell[metric] for cell in cells.values()))
    return found


def best_mean(figures, tools, name):
    means = [statistics.mean(found) for tool in tools if (found := series(figures, tool, name))]
    return min(means, default=None)


def sustained(figures):
    for name, title in SERIES.items():
        ours = best_mean(figures, ["sealift/vacuum"], name)
        for rival, limit, tools in (
            ("page-level deduplication with zstd", 1 / 7, ["limit/pagelevel"]),
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
    def of(one, other, what, metric="wall", **more):
        return figures.ratio("oltp", size, one, other, what, metric, **more)

    yield at_most("bytes sent in a first push, against restic", 1.05, of("sealift/vacuum", "restic", "first", "sent"))
    for method, first, small, once in (("pages", 0.35, 0.15, 0.3), ("vacuum", 0.45, 0.35, 0.5)):
        yield at_most(
            f"time of a first push, `{method}`, against restic with its copy",
            first,
            of(f"sealift/{method}", "restic", "first"),
        )
        yield at_most(
            f"time after 1 % updates, `{method}`, against restic with its copy",
            small,
            of(f"sealift/{method}", "restic", "update1"),
        )
        yield at_most(
            f"time after 1 % updates, `{method}`, against Litestream `replicate -once`",
            once,
            of(f"sealift/{method}", "litestream/once", "update1"),
        )
    speed = figures.ratio("oltp", size, "zstd", "sealift/pages+key", "zstd", "wall", other_what="seal")
    yield "throughput of sealing, against zstd -1 on all cores", "≥ 0.60 ×", as_ratio(speed), (
        None if speed is None else speed >= 0.6
    )
    unchanged = figures.median("oltp", size, "sealift/vacuum", "unchanged", "wall")
    requests = figures.median("oltp", size, "sealift/vacuum", "unchanged", "requests")
    yield (
        "push of an unchanged database",
        "≤ 30 ms, 0 requests",
        f"{seconds(unchanged)}, {requests or 0:.0f} requests" if unchanged is not None else "–",
        None if unchanged is None else unchanged <= 0.030 and requests == 0,
    )
    one = figures.median("oltp", "10G", "sealift/vacuum+key", "onepage", "sent")
    yield at_most("one changed page in a 10 GiB database, bytes sent", 64 << 10, one, show=megabytes)


def restores(figures, size):
    yield at_most(
        "time of a restore, against restic",
        0.6,
        figures.ratio("oltp", size, "sealift/vacuum", "restic", "restore", "wall"),
    )
    for name in ("mixed", "update1"):
        walls = [
            figures.median("oltp", "64M", "sealift/vacuum", f"{name}-any{number:03}", "wall")
            for number in range(0, 101, 10)
        ]
        known = [wall for wall in walls[1:] if wall is not None]
        yield at_most(
            f"restore of any of the sustained versions ({name}), against the first",
            2.5,
            max(known) / walls[0] if known and walls[0] else None,
        )
    speed = figures.ratio("oltp", size, "zstd", "sealift/pages+key", "unzstd", "wall", other_what="unseal")
    yield "throughput of a restore, against zstd -d", "≥ 0.60 ×", as_ratio(speed), (
        None if speed is None else speed >= 0.6
    )


def resources(figures, sizes):
    def peak(size):
        found = [
            cell["anonymous"]
            for (_, of, tool, _), runs in figures.groups.items()
            if of == size and tool.endswith("+key")
            for cell in runs.values()
        ]
        return max(found, default=None)

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
    for method in ("vacuum", "pages"):
        found = [
            cell["disk"] / cell["database"]
            for (_, _, tool, what), runs in figures.groups.items()
            if tool.startswith(f"sealift/{method}") and what == "update1"
            for cell in runs.values()
            if "database" in cell
        ]
        yield at_most(
            f"local disk beyond what is kept, while pushing after 1 % updates, `{method}`, against the database",
            1.0,
            max(found, default=None),
        )
    for name, limit in (("cold", 1.5), ("warm", 0.1)):
        for key, by in (("", "by passphrase"), ("-key", "by key file")):
            cells = figures.runs("events", "1M", "sealift/pages", f"list-{name}{key}").values()
            wall = statistics.median(cell["wall"] for cell in cells) if cells else None
            versions = max((cell["versions"] for cell in cells), default=1000)
            yield at_most(f"list of {versions:,} versions, {name}, {by}", limit, wall, show=seconds)
    yield at_most(
        "start of the command", 0.015, figures.median("none", "0", "sealift/vacuum", "start", "wall"), show=seconds
    )
