#!/usr/bin/python3
"""The targets that Sealift was built for, each with the figure that was measured and whether it is met."""

import collections, dataclasses, statistics

from figures import PAIRED, as_ratio, in_bytes, mebibytes, megabytes, seconds, tells

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
COPIES = {"vacuum": "`VACUUM INTO`", "backup": "`.backup`"}
"""How the copy is made that a tool is given."""
METHODS = ("vacuum", "pages")
CHANGES = ["update0.1", "update0.1grow", "update1", "update1grow", "append1", "delete30", "schema", "vacuum"]
ENOUGH = 5
"""As many runs as a verdict should rest on; of fewer it says how many they were."""
LENGTH = 100
"""As many successive pushes as the targets of a series are about: of fewer there is no verdict. The dear ones may be the last."""


@dataclasses.dataclass
class Row:
    what: str
    limit: str
    measured: str
    verdict: bool | None
    """None when nothing was measured, or not to the end."""
    runs: int = 0
    """How many runs the figure is of; of one over several cells, how many there are of the one that has fewest."""
    between: tuple = ()
    """What a ratio is made of: (kind, size, tool, what, metric) of ours and of the other."""
    series: tuple = ()
    """The sustained series that it is of: (size, name)."""
    pushes: int = 0
    """How many pushes of that series it is of."""
    so_far: int = 0
    """How many pushes a series has that was not measured to its end."""
    builds: int = 0
    """Of bytes: how many builds of Sealift they are of. One sends more than another."""


def rows(figures):
    """The size that they are about, and a Row for each target."""
    sizes = figures.sizes("oltp")
    size = sizes[-1] if sizes else "1G"
    return size, [
        *changes(figures, size),
        *standing(figures, sustained),
        *pushes(figures, size),
        *restores(figures, size),
        *resources(figures, sizes),
    ]


def at_most(what, limit, value, show=as_ratio, note="", **more):
    verdict = None if value is None else value <= limit
    return Row(what, f"≤ {show(limit)}", apart(limit, value, verdict, show) + note, verdict, **more)


def whole(length, row):
    """No verdict on a series that was cut: it lacks pushes, and may lack the dear ones."""
    is_cut = row.verdict is not None and length < LENGTH
    return dataclasses.replace(row, verdict=None, so_far=length) if is_cut else row


def at_least(what, limit, value, **more):
    verdict = None if value is None else value >= limit
    return Row(what, f"≥ {as_ratio(limit)}", apart(limit, value, verdict), verdict, **more)


def apart(limit, value, verdict, show=as_ratio):
    """The value, with as many digits as tell it from a limit that it does not meet."""
    digits = 0
    while verdict is False and digits < 9 and show(value, digits) == show(limit, digits):
        digits += 1
    return show(value, digits)


def ratio(figures, title, limit, kind, size, one, other, what, metric):
    """A row of a median of ratios."""
    found = figures.ratios(kind, size, one, other, what, metric)
    groups = [(kind, size, tool, what) for tool in (one, other)]
    between = tuple((*group, metric) for group in groups)
    value = statistics.median(found) if found else None
    builds = figures.builds(groups) if metric == "sent" else 0
    return at_most(title, limit, value, runs=len(found), between=between, builds=builds)


def changes(figures, size):
    limits = {
        "update0.1": {"restic": 1 / 100, "borg": 1 / 100, "duplicity": 1 / 12, "litestream/daemon": 1 / 3},
        "update1": {"restic": 1 / 30, "borg": 1 / 30, "duplicity": 1 / 12, "litestream/daemon": 1 / 2},
    }
    for what, rivals in limits.items():
        for rival, limit in rivals.items():
            title = f"bytes sent after {what[6:]} % updates, against {rival.replace('/', ' ')}"
            yield ratio(figures, title, limit, "oltp", size, "sealift/vacuum", rival, what, "sent")
    ours = [("oltp", size, "sealift/vacuum", what) for what in CHANGES]
    each = {what: figures.ratios("oltp", size, "sealift/vacuum", "limit/patch", what, "sent") for what in CHANGES}
    known = {what: statistics.median(found) for what, found in each.items() if found}
    worst = max(known, key=known.get, default=None)
    yield unless_partial(
        len(known),
        at_most(
            "bytes sent against `zstd -3 --long=31 --patch-from`, each change",
            1.0,
            known.get(worst),
            note=f" ({worst}, the worst of {len(known)})" if worst else "",
            runs=min((len(each[what]) for what in known), default=0),
            builds=figures.builds(ours),
        ),
    )
    summed = [found for run in figures.all_runs("oltp", size, "limit/patch") if (found := sums(figures, size, run))]
    value = statistics.median(summed) if summed else None
    yield at_most("the same, summed over all", 0.55, value, runs=len(summed), builds=figures.builds(ours))


def sums(figures, size, run):
    """The ratio of what all changes of one run sent; None unless all were measured."""
    ours, theirs = (
        [figures.of_run("oltp", size, tool, what, "sent", run) for what in CHANGES]
        for tool in ("sealift/vacuum", "limit/patch")
    )
    return None if None in ours + theirs else sum(ours) / sum(theirs)


def unless_partial(count, row):
    """The worst of some changes may not be the worst of all."""
    return row if count in (0, len(CHANGES)) else dataclasses.replace(row, verdict=None)


def series_sizes(figures):
    """Those of the databases that were pushed many times, ascending; as it is meant to be where none was."""
    found = {of for kind, of, _, what in figures.groups if kind == "oltp" and in_series(what)}
    return sorted(found or {"64M"}, key=in_bytes)


def standing(figures, rows_of):
    """The targets of the sustained series: of each size that was measured, except that a series that is complete stands
    for those of smaller databases.
    """
    for found, stands in by_size(figures, rows_of):
        yield from found[stands:]


def outdone(figures, size):
    """Those of one size for which a larger one stands."""
    for rows_of in (sustained, restores_of_series):
        for found, stands in by_size(figures, rows_of):
            yield from (row for row in found[:stands] if row.series[0] == size)


def by_size(figures, rows_of):
    """For each target its rows, of small databases first, and the place of the one that stands for those before it. Where
    a database was pushed, that something is not known of it is a row, too.
    """
    for found in zip(*(rows_of(figures, size) for size in series_sizes(figures))):
        begun = [row for row in found if row.verdict is not None or length_of_series(figures, *row.series)] or [found[0]]
        longest = max(row.pushes for row in begun)
        complete = [
            at for at, row in enumerate(begun) if row.verdict is not None and row.runs >= ENOUGH and row.pushes == longest
        ]
        yield begun, max(complete, default=0)


def series(figures, size, tool, name, metric="sent", run=1):
    """The pushes 1, 2, 3 … of one run of a sustained series, in order; those whose time says nothing have none."""
    found, number = [], 1
    while cells := figures.runs("oltp", size, tool, f"{name}-{number:03}"):
        found += [cells[run][metric]] if run in cells and tells(cells[run], metric) else []
        number += 1
    return found


def runs_of_series(figures, size, tool, name):
    """Those that came to the end: in each of them other rows changed."""
    begun = figures.runs("oltp", size, tool, f"{name}-001")
    pushes = {run: len(series(figures, size, tool, name, run=run)) for run in begun}
    return [run for run, count in sorted(pushes.items()) if count == max(pushes.values())]


def pushes_of_series(figures, size, tool, name):
    """Run → what each of its pushes sent."""
    found = {run: series(figures, size, tool, name, run=run) for run in runs_of_series(figures, size, tool, name)}
    return {run: sent for run, sent in found.items() if sent}


def length_of_series(figures, size, name):
    return max(map(len, pushes_of_series(figures, size, "sealift/vacuum", name).values()), default=0)


def copies_of_series(figures, size, tools, name):
    """In words, that a tool which is given copies was not measured with both of them, in so many runs."""
    if tools[0].split("/")[0] not in PAIRED:
        return ""
    ours, *theirs = (pushes_of_series(figures, size, tool, name) for tool in ("sealift/vacuum", *tools))
    by = [{tool for tool, runs in zip(tools, theirs) if run in runs} for run in ours]
    compared = [found for found in by if found]
    alone = [found for found in compared if len(found) < len(tools)]
    if not alone:
        return ""
    (copy,) = {tool.split("/")[1] for found in alone for tool in found} if len(set.union(*alone)) == 1 else [None]
    words = f"copied by {COPIES[copy]} alone" if copy else "given one of two copies alone"
    return f" ({words}{'' if len(alone) == len(compared) else f' in {len(alone)} of {len(compared)} runs'})"


def ratios_of_means(figures, size, tools, name):
    """Of how many of the others' pushes: at most of as many as ours, and of fewer where each of their versions takes so
    much room that they were pushed less often. And the ratios, run by run, against the one of them that sent least. Ours
    are always all: the first of them are the cheap ones.
    """
    ours, *theirs = (pushes_of_series(figures, size, tool, name) for tool in ("sealift/vacuum", *tools))
    lengths = [max(map(len, runs.values()), default=0) for runs in (ours, *theirs)]
    count, found = min(lengths[0], max(lengths[1:])), []
    for run, sent in ours.items():
        means = [statistics.mean(other[run][:count]) for other in theirs if len(other.get(run, ())) >= count > 0]
        found += [statistics.mean(sent) / min(means)] if means else []
    return count, found


def sustained(figures, size):
    for name, title in SERIES.items():
        of, length = f"{title}, {size}iB", length_of_series(figures, size, name)
        pushed = [("oltp", size, "sealift/vacuum", f"{name}-{number:03}") for number in range(length + 1)]
        more = {"series": (size, name), "pushes": length, "builds": figures.builds(pushed)}
        for rival, limit, tools in (
            ("page-level deduplication with zstd of vacuumed copies", 1 / 7, ["limit/pagelevel"]),
            ("the same of `.backup` copies", 1 / 7, ["limit/pagelevel-backup"]),
            ("restic", 1 / 14, ["restic/vacuum", "restic/backup"]),
        ):
            count, found = ratios_of_means(figures, size, tools, name)
            yield whole(
                length,
                at_most(
                    f"mean bytes of {max(length, LENGTH)} successive pushes, {of}, against {rival}"
                    + copies_of_series(figures, size, tools, name)
                    + (f" (the first {count} of its pushes)" if 0 < count < length else ""),
                    limit,
                    statistics.median(found) if found else None,
                    runs=len(found),
                    **more | {"pushes": count},
                ),
            )
        needs, first = (figures.runs("oltp", size, "sealift/vacuum", f"{name}-{what}") for what in ("needs", "000"))
        found = [max(needs[run]["fetched"]) / first[run]["stored"] for run in needs if first.get(run)]
        fetched = (
            f"bytes that a restore of one version fetches (parts of packs, which hold more), {of}, against what the "
            "first push of the series stored"
        )
        yield whole(length, at_most(fetched, 2.0, max(found, default=None), runs=len(found), **more))
        pages = figures.values("oltp", size, "sealift/vacuum", f"{name}-onepage", "sent")
        page = f"one changed page after {max(length, LENGTH)} pushes, {of}, bytes sent"
        yield whole(length, at_most(page, 64 << 10, max(pages, default=None), show=megabytes, runs=len(pages), **more))


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
    yield Row(
        "push of an unchanged database",
        "≤ 30 ms, 0 requests",
        f"{seconds(unchanged)}, {requests or 0:.0f} requests" if unchanged is not None else "–",
        None if unchanged is None else unchanged <= 0.030 and requests == 0,
        len(walls),
    )
    pages = figures.values("oltp", "10G", "sealift/vacuum+key", "onepage", "sent")
    one = statistics.median(pages) if pages else None
    title = "one changed page in a 10 GiB database, right after its first push, bytes sent"
    builds = figures.builds([("oltp", "10G", "sealift/vacuum+key", "onepage")])
    yield at_most(title, 64 << 10, one, show=megabytes, runs=len(pages), builds=builds)


def speed(figures, what, size, plain, ours):
    """How fast this is beside zstd alone, of the same bytes."""
    tool = "sealift/pages+key"
    found = figures.ratios("oltp", size, "zstd", tool, plain, "wall", other_what=ours)
    return at_least(what, 0.6, statistics.median(found) if found else None, runs=len(found))


def restores(figures, size):
    """Right after the first push there is nothing but that; after a change there are deltas to be put in."""
    for method in METHODS:
        for moment, what in (("the first push", "restore"), ("1 % updates", "restore-update1")):
            title = f"time of a restore after {moment}, `{method}`, against restic"
            yield ratio(figures, title, 0.6, "oltp", size, f"sealift/{method}", "restic", what, "wall")
    yield from standing(figures, restores_of_series)
    yield speed(figures, "throughput of a restore, against zstd -d", size, "unzstd", "unseal")


def restores_of_series(figures, size):
    """Each restore derives the key from the passphrase, which makes a ratio look better than what changes is."""
    derivation = passphrase(figures)
    for name in SERIES:
        walls = restores_of_any(figures, size, "sealift/vacuum", name)
        later = [wall for number, wall in walls.items() if number]
        first = figures.runs("oltp", size, "sealift/vacuum", f"{name}-any000")
        known = later and 0 in walls
        yield whole(
            length_of_series(figures, size, name),
            at_most(
                f"restore of the sustained versions ({name}), the slowest of every tenth, against the first, {size}iB",
                2.5,
                max(later) / walls[0] if known else None,
                note=f" (both with the key's derivation, {seconds(derivation)})" if known and derivation else "",
                runs=len(first) if known else 0,
                series=(size, name),
                pushes=max(walls, default=0),
            ),
        )


def restores_of_any(figures, size, tool, name, metric="wall"):
    """Version → what its restore took, of every tenth of a sustained series."""
    found = {
        number: figures.median("oltp", size, tool, f"{name}-any{number:03}", metric) for number in range(0, 101, 10)
    }
    return {number: value for number, value in found.items() if value is not None}


def resources(figures, sizes):
    keyed = {of for _, of, tool, _ in figures.groups if tool.endswith("+key")}
    for size in sorted(keyed.union(sizes, ["10G"]), key=in_bytes):
        title, (value, runs) = f"peak anonymous memory, push and restore, {size}iB", peak(figures, size)
        yield at_most(title, 96 << 20, value, show=mebibytes, runs=runs)
    yield growth(figures)
    title, found = "peak anonymous memory when opened by passphrase", by_passphrase(figures)
    runs = len({cell["run"] for cell in found})
    yield at_most(title, 160 << 20, max((cell["anonymous"] for cell in found), default=None), show=mebibytes, runs=runs)
    derivation = passphrase(figures)
    lists = figures.values("events", "1M", "sealift/pages", "list-warm", "wall")
    title = "time that opening by passphrase takes, of a list"
    yield at_most(title, 0.6, derivation, show=seconds, runs=len(lists))
    for method in METHODS:
        yield from disk(figures, method)
    yield without_copy(figures)
    for name, limit in (("cold", 1.5), ("warm", 0.1)):
        for key, by in (("", "by passphrase"), ("-key", "by key file")):
            cells = figures.runs("events", "1M", "sealift/pages", f"list-{name}{key}").values()
            walls = [cell["wall"] for cell in cells if tells(cell, "wall")]
            versions = max((cell["versions"] for cell in cells), default=1000)
            title, wall = f"list of {versions:,} versions, {name}, {by}", statistics.median(walls) if walls else None
            yield at_most(title, limit, wall, show=seconds, runs=len(walls))
    yield start_of_command(figures)


ALIKE = ("first", "update1", "restore")
"""What the memory study and that of 10 GiB both do, in this order: what they took stands side by side."""


def by_key_file(figures, size, names=None):
    """What Sealift took at a size, opened by key file: (tool, what) → cells."""
    return {
        (tool, what): list(runs.values())
        for (kind, of, tool, what), runs in figures.groups.items()
        if (kind, of) == ("oltp", size) and tool.endswith("+key") and (names is None or what in names)
    }


def peak(figures, size):
    """Of both methods, and of how many runs; None while a push, one after a change, or a restore was not measured."""
    found = by_key_file(figures, size)
    needed = [(f"sealift/{method}+key", what) for method in METHODS for what in ALIKE]
    if not found.keys() >= set(needed):
        return None, 0
    return max(cell["anonymous"] for cells in found.values() for cell in cells), min(len(found[one]) for one in needed)


def growth(figures):
    """Of the step and method that grows most: the greatest peak of 10 GiB against the greatest of 1 GiB. None while one
    of them was not measured.
    """
    small, large = (by_key_file(figures, size, ALIKE) for size in ("1G", "10G"))
    found = {
        step: max(cell["anonymous"] for cell in large[step]) / max(cell["anonymous"] for cell in small[step])
        for step in small.keys() & large.keys()
    }
    worst = max(found, key=found.get) if len(found) == len(METHODS) * len(ALIKE) else None
    return at_most(
        "growth of it from 1 GiB to 10 GiB, each step and method",
        1.10,
        found.get(worst),
        note=f" ({method_of(worst[0])}, {worst[1]}, the worst of {len(found)})" if worst else "",
        runs=min(len(large[worst]), len(small[worst])) if worst else 0,
    )


def method_of(tool):
    """sealift/pages+key → pages."""
    return tool.split("/")[1].split("+")[0]


def by_passphrase(figures):
    return [
        cell
        for (_, _, tool, _), runs in figures.groups.items()
        if tool in ("sealift/vacuum", "sealift/pages")
        for cell in runs.values()
    ]


def passphrase(figures):
    """How much longer a warm list takes by passphrase than by key file, in seconds: nothing else differs."""
    slow, fast = (
        figures.median("events", "1M", "sealift/pages", f"list-warm{key}", "wall") for key in ("", "-key")
    )
    return slow - fast if slow is not None and fast is not None else None


def disk(figures, method):
    """Of every push of the matrix and of the studies beside it, and of the pushes of the sustained series."""
    beside = f"local disk beyond what is kept, while pushing, `{method}`, against the database"
    once, many = (pushes_on_disk(figures, method, sustained=which) for which in (False, True))
    greatest = max(beyond(once), default=None)
    yield at_most(f"{beside}: all kinds, sizes and changes, the greatest", 1.0, greatest, runs=runs_of(once))
    kept = as_ratio(max((cell["kept"] / cell["database"] for cell in many), default=None))
    sizes = sorted({cell["size"] for cell in many}, key=in_bytes)
    note = f" (kept: up to {kept})" if many else ""
    title = f"{beside}: sustained pushes, {sizes_in_words(sizes) or 'any size'}, the greatest"
    yield at_most(title, 1.0, max(beyond(many), default=None), note=note, runs=runs_of(many))


def without_copy(figures):
    """Pages that nothing forbids to read straight from the database: as little as any push of them took."""
    cells = page_copies(figures)
    found = beyond(cells)
    return Row(
        "local disk beyond the base, where the design allows streaming",
        "0",
        f"{as_ratio(min(found))} at least: every push has a copy (Decisions/0019)" if found else "–",
        min(found) == 0 if found else None,
        runs_of(cells),
    )


def page_copies(figures):
    return [cell for cell in pushes_on_disk(figures, "pages", sustained=False) if cell["what"] != "unchanged"]


def beyond(cells):
    return [cell["disk"] / cell["database"] for cell in cells]


def runs_of(cells):
    """How many there are of the push that was measured least often."""
    counts = collections.Counter(tuple(cell[name] for name in ("kind", "size", "tool", "what")) for cell in cells)
    return min(counts.values(), default=0)


def pushes_on_disk(figures, method, sustained):
    """Cells of pushes by one method, of the sustained series or of all else; not those of profiles, in which perf keeps
    a copy of each program that it has seen."""
    pushes = {"first", "unchanged", "onepage", *CHANGES}
    return [
        cell
        for (_, _, tool, what), runs in figures.groups.items()
        if is_by(tool, method) and not tool.endswith("+profile")
        and (in_series(what) if sustained else what in pushes)
        for cell in runs.values()
        if {"database", "disk", "kept"} <= cell.keys()
    ]


def is_by(tool, method):
    return tool.startswith("sealift/") and method_of(tool) == method


def sizes_in_words(sizes):
    """["64M", "1G"] → 64MiB and 1GiB."""
    return " and ".join(f"{size}iB" for size in sizes)


def in_series(what):
    name, _, number = what.rpartition("-")
    return name in SERIES and number.isdigit() and int(number) > 0


def start_of_command(figures):
    walls = figures.values("none", "0", "sealift/vacuum", "start", "wall")
    start = statistics.median(walls) if walls else None
    return at_most("start of the command", 0.015, start, show=seconds, runs=len(walls))
