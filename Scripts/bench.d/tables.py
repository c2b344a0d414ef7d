#!/usr/bin/python3
"""The tables of the report, in Markdown: each function gives finished paragraphs for what was measured."""

import re, statistics

import targets
from figures import SOME, build_of, in_bytes, machines_of, mebibytes, megabytes, plural, seconds, tells
from kinds import KINDS
from results import is_ours

FAMILIES = [
    "sealift/vacuum",
    "sealift/pages",
    "restic",
    "borg",
    "duplicity",
    "rclone",
    "litestream/daemon",
    "litestream/once",
    "shell",
]
LIMITS = ["limit/patch", "limit/pagelevel", "limit/pagelevel-backup", "limit/zstd1", "limit/zstd3"]
FLOORS = {"vacuum": "limit/sqlite", "pages": "limit/sqlite-backup"}
PUSHES = ["first", "unchanged", *targets.CHANGES]
NAMES = {
    "sealift/vacuum": "**Sealift**, vacuum (default)",
    "sealift/pages": "**Sealift**, pages",
    "borg": "borg + rclone",
    "rclone": "rclone crypt",
    "litestream/daemon": "Litestream daemon",
    "litestream/once": "Litestream -once",
    "shell": "shell script",
    "limit/patch": "*zstd -3 --long=31 --patch-from*",
    "limit/pagelevel": "*new pages + zstd -3, vacuumed*",
    "limit/pagelevel-backup": "*new pages + zstd -3, .backup*",
    "limit/zstd1": "*zstd -1, vacuumed*",
    "limit/zstd3": "*zstd -3, vacuumed*",
    "limit/sqlite": "*VACUUM INTO, quick_check, no more*",
    "limit/sqlite-backup": "*.backup, quick_check, no more*",
}
WORDS = {
    "first": "first push",
    "update0.1": "0.1 % updates",
    "update0.1grow": "0.1 % growing",
    "update1": "1 % updates",
    "update1grow": "1 % growing",
    "append1": "1 % appended",
    "delete30": "30 % deleted",
    "schema": "column, index",
    "vacuum": "VACUUM",
    "restore": "restore after the first push",
    "restore-update1": "restore after 1 % updates",
}
FAR = 1.05
"""A tool whose runs lie further apart in bytes, the greatest against the least, is named."""
RESTORES = ["restore", "restore-update1"]
MANY = ["update1", "unchanged", *RESTORES]


def word(what):
    return WORDS.get(what, what)


def table(header, rows):
    def line(cells):
        return "| " + " | ".join(cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *(line(row) for row in rows)])


def spread(values, show, runs=0):
    """Median, and in brackets the least and the most when they differ, and how many there are when not all of the runs."""
    if not values:
        return "–"
    middle, told = show(statistics.median(values)), []
    if show(min(values)) != show(max(values)):
        told.append(f"{show(min(values))}–{show(max(values))}")
    if len(values) < runs:
        told.append(f"{len(values)} of {runs}")
    return f"{middle} ({', '.join(told)})" if told else middle


def count(value):
    return f"{value:.0f}"


def measured(figures, kind, size, rows):
    """Those of which some push was measured, and not only a study that has a table of its own."""
    return [tool for tool in rows if any(figures.values(kind, size, tool, what, "sent") for what in PUSHES)]


def target_table(figures):
    size, rows = targets.rows(figures)
    met, missed, unknown = (sum(row.verdict is verdict for row in rows) for verdict in (True, False, None))
    few = sum(on_few_runs(row) for row in rows)
    yield (
        f"## Targets\n\nOn the OLTP database of {size}iB unless said: successive pushes, and the restores of what they "
        f"left, are of {series_of(rows)}, lists of a database of 1MiB; ratios are medians of ratios within one run. "
        f"Met: {met}; not met: {missed}; not measured, or not to the end: {unknown}. *Runs*: of how many a figure is the median, or, of "
        "peaks, the greatest; where it is of several steps, of the one that was measured least often; of bytes, of how many builds of Sealift, where not of one. A verdict that "
        f"rests on fewer than {targets.ENOUGH} runs says so: {few} of them do."
        f"{spread_of_bytes(figures)}"
    )
    yield target_rows(rows)


def series_of(rows):
    """The sizes of the sustained series that the targets are about."""
    return targets.sizes_in_words(sorted({row.series[0] for row in rows if row.series}, key=in_bytes))


def target_rows(rows):
    return table(
        ["what", "target", "measured", "runs", ""],
        [[row.what, row.limit, row.measured, runs_of(row), verdict(row)] for row in rows],
    )


def runs_of(row):
    return str(row.runs) + (f", {row.builds} builds" if row.runs and row.builds > 1 else "")


def spread_of_bytes(figures):
    """How far apart runs of the same push are in what they send: some tools leave a part of it to chance."""
    found = figures.spreads("sent", PUSHES)
    ours = [ratio for tool, groups in found.items() if is_ours(tool) for ratio, _ in groups]
    rivals = {tool: groups for tool, groups in found.items() if not is_ours(tool)}
    if not ours or not rivals:
        return ""
    far = {tool: groups for tool, groups in rivals.items() if groups[-1][0] >= FAR}
    told = [widest(tool, far[tool]) for tool in sorted(far, key=lambda tool: -far[tool][-1][0])]
    near = [groups[-1][0] for tool, groups in rivals.items() if tool not in far]
    told += [f"with all others at most {max(near):.3f} ×"] if near else []
    return (
        f" Bytes are no exception: where the same push was measured in {SOME} runs or more (of Sealift by one build), the most that was sent is, "
        f"against the least, with Sealift at most {max(ours):.3f} × ({len(ours)} such pushes), {', '.join(told)}."
    )


def widest(tool, groups):
    ratio, (kind, size, _, what) = groups[-1]
    middle, where = statistics.median(one for one, _ in groups), f"{kind}, {size}iB, {word(what)}"
    return f"with {NAMES.get(tool, tool)} up to {ratio:.2f} × ({where}; in the median {middle:.3f} ×)"


def on_few_runs(row):
    return row.verdict is not None and row.runs < targets.ENOUGH


def verdict(row):
    if row.verdict is None:
        return f"measured so far: {row.so_far} of {targets.LENGTH}" if row.so_far else "not measured"
    few = f" ({row.runs} of {targets.ENOUGH})" if on_few_runs(row) else ""
    return f"met{few}" if row.verdict else f"**not met**{few}"


def kinds(figures):
    for kind in figures.kinds():
        for size in figures.sizes(kind):
            title = KINDS[kind].title
            tools, limits = measured(figures, kind, size, FAMILIES), measured(figures, kind, size, LIMITS)
            runs = max((len(figures.all_runs(kind, size, tool)) for tool in tools), default=0)
            yield (
                f"## {title[0].upper()}{title[1:]} — {size}iB\n\nUp to {plural(runs, 'run')}; median (least–most, of "
                f"how many where not of all).{unmeasured(figures, kind, size)}{measured_on(compared(figures, kind, size))}"
                f"{builds_of(compared(figures, kind, size))}"
            )

            def matrix(heading, rows, columns, metric, show):
                cells = [
                    [NAMES.get(tool, tool)]
                    + [spread(figures.values(kind, size, tool, what, metric), show, runs) for what in columns]
                    for tool in rows
                ]
                return f"### {heading}\n\n" + table(["", *map(word, columns)], cells)

            yield matrix("Bytes sent", tools + limits, PUSHES, "sent", megabytes)
            yield times_table(figures, kind, size, tools + limits)
            floors = measured(figures, kind, size, FLOORS.values())
            yield matrix("Time, copies included", tools + limits + floors, [*PUSHES, *RESTORES], "wall", seconds)
            yield matrix("CPU", tools + limits + floors, ["first", *MANY], "cpu", seconds)
            yield memory(figures, kind, size, tools + limits, runs)
            yield matrix("Peak disk beyond what is kept between pushes", tools, ["first", "update1"], "disk", megabytes)
            yield matrix("Kept on disk after it", tools, ["first", "update1"], "kept", megabytes)
            yield matrix("Requests", tools, ["first", *MANY], "requests", count)
            yield matrix("Bytes stored after it", tools, ["first", "update1"], "stored", megabytes)
            yield "### Which copy suited a tool better\n\n" + better(figures, kind, size)


def compared(figures, kind, size):
    """All cells that the tables of a kind and a size are made of."""
    known = {tool for one in [*FAMILIES, *LIMITS, *FLOORS.values()] for tool in figures.variants(one)}
    return [
        cell
        for (*of, tool, what), runs in figures.groups.items()
        if of == [kind, size] and tool in known and what in [*PUSHES, *RESTORES]
        for cell in runs.values()
    ]


def builds_of(cells):
    """That what lies between the least and the most is not all chance."""
    found = sorted(filter(None, {build_of(cell) for cell in cells}))
    return f" Sealift's cells here are of {len(found)} builds: {', '.join(found)}." if len(found) > 1 else ""


def measured_on(cells):
    return f" Measured on {machines_of(cells)}."


def unmeasured(figures, kind, size):
    """What was measured with other sizes of the same kind, and not with this one."""
    known = [*FAMILIES, *LIMITS, *FLOORS.values()]
    elsewhere = {tool for other in figures.sizes(kind) for tool in measured(figures, kind, other, known)}
    here = measured(figures, kind, size, known)
    missing = [NAMES.get(tool, tool) for tool in known if tool in elsewhere and tool not in here]
    return f" Not measured at this size: {', '.join(missing)}." if missing else ""


def memory(figures, kind, size, tools, runs):
    """Both peaks side by side; one of 0 was not looked at."""

    def peak(tool, what, metric):
        return spread([value for value in figures.values(kind, size, tool, what, metric) if value], mebibytes, runs)

    columns = [(what, metric) for what in ("first", "update1", *RESTORES) for metric in ("anonymous", "resident")]
    rows = [[NAMES.get(tool, tool), *(peak(tool, *column) for column in columns)] for tool in tools]
    return (
        "### Peak memory\n\nAnonymous memory of all processes together, and the resident size of the greatest one, "
        "mapped files included.\n\n" + table(["", *(f"{word(what)}, {metric}" for what, metric in columns)], rows)
    )


def times_table(figures, kind, size, tools):
    def ratio(tool, what):
        value = figures.ratio(kind, size, tool, "sealift/vacuum", what, "sent")
        return "–" if value is None else f"{value:.2g}" if value < 10 else count(value)

    columns = ["first", *targets.CHANGES]
    rows = [
        [NAMES.get(tool, tool), *(ratio(tool, what) for what in columns)] for tool in tools if tool != "sealift/vacuum"
    ]
    return "### How many times what Sealift (vacuum) sent\n\n" + table(["", *map(word, columns)], rows)


def better(figures, kind, size):
    def told(variant, what):
        cells = list(figures.runs(kind, size, variant, what).values())
        if not cells:
            return "–"
        sent = megabytes(statistics.median(cell["sent"] for cell in cells))
        timed = [cell for cell in cells if tells(cell, "wall")]
        if not timed:
            return sent
        wall, copy = (statistics.median(cell[metric] for cell in timed) for metric in ("wall", "copy"))
        return f"{sent}, {seconds(wall)} of which the copy {seconds(copy)}"

    copies = {"vacuum": "VACUUM INTO", "backup": ".backup"}
    rows = [
        [family, copies[variant.split("/")[1]], told(variant, "first"), told(variant, "update1")]
        for family in ("restic", "borg", "duplicity", "rclone")
        for variant in figures.variants(family, size)
    ]
    return table(["", "copy by", "first push", "after 1 % updates"], rows)


def sustained(figures):
    header = ["", "pushes", "first push", "mean of the others", "median", "greatest", "mean time (of how many)"]
    header += ["stored at the end", "restore at 30", "restore at the end", "one page more"]
    for size in targets.series_sizes(figures):
        for series, title in targets.SERIES.items():
            tools = [tool for tool in targets.SUSTAINED if targets.series(figures, size, tool, series)]
            if tools:
                yield (
                    f"## Many versions: {title} — {size}iB\n\nThe OLTP database, changed and pushed again and again. Of "
                    "several runs, in each of which other rows change: the median of their means, all their pushes."
                    f"{measured_on(pushed_often(figures, size, series))}\n\n"
                    + table(header, [sustained_row(figures, size, tool, series) for tool in tools])
                )
                for tool in ("sealift/vacuum", "sealift/pages"):
                    yield from any_version(figures, size, tool, series)
        if outdone := list(targets.outdone(figures, size)):
            yield f"Targets of {size}iB, for which above those of a larger database stand:\n\n" + target_rows(outdone)


def pushed_often(figures, size, series):
    return [
        cell
        for (kind, of, _, what), runs in figures.groups.items()
        if (kind, of) == ("oltp", size) and what.startswith(f"{series}-")
        for cell in runs.values()
    ]


def sustained_row(figures, size, tool, series):
    runs = targets.runs_of_series(figures, size, tool, series)
    sent, walls, stored = (
        [targets.series(figures, size, tool, series, metric, run) for run in runs]
        for metric in ("sent", "wall", "stored")
    )
    first = figures.median("oltp", size, tool, f"{series}-000", "sent")
    kept = [sum(one, first) if tool.startswith("limit") else one[-1] for one in stored]
    restores = [figures.median("oltp", size, tool, f"{series}-restore{at:03}", "wall") for at in (30, len(sent[0]))]
    page = figures.median("oltp", size, tool, f"{series}-onepage", "sent")
    pushes, walls = [push for one in sent for push in one], [wall for one in walls for wall in one]
    means = [statistics.mean(one) for one in sent]
    return [
        tool,
        str(len(sent[0])) + (f" × {len(runs)}" if len(runs) > 1 else ""),
        megabytes(first),
        spread(means, megabytes),
        *map(megabytes, (statistics.median(pushes), max(pushes))),
        f"{seconds(statistics.mean(walls))} ({len(walls)})" if walls else "–",
        megabytes(statistics.median(kept)),
        *map(seconds, restores),
        megabytes(page),
    ]


def any_version(figures, size, tool, series):
    found = {}
    for number in range(0, 101, 10):
        wall, received = (
            figures.median("oltp", size, tool, f"{series}-any{number:03}", metric) for metric in ("wall", "received")
        )
        if wall is not None:
            found[number] = seconds(wall), megabytes(received)
    if found:
        yield f"Restore of older versions, {tool}:\n\n" + table(
            ["version", *map(str, found)],
            [
                ["time", *(wall for wall, _ in found.values())],
                ["received", *(received for _, received in found.values())],
            ],
        )


def chain(figures):
    """The newest version after thirty pushes; beside the same tool's restores without a chain, where one machine has
    measured both.
    """
    kind, size, what = "oltp", "64M", "chain-restore"

    def cells_of(what):
        variants = [one for tool in FAMILIES for one in figures.variants(tool)]
        return [cell for one in variants for cell in figures.runs(kind, size, one, what).values()]

    all_cells = cells_of(what)
    beside = [other for other in RESTORES if machines_of(cells_of(other)) == machines_of(all_cells)]
    rows = []
    for tool in FAMILIES:
        cells = figures.values(kind, size, tool, what, "wall")
        received = figures.median(kind, size, tool, what, "received")
        if received is None:
            continue
        against = figures.ratio(kind, size, tool, "sealift/vacuum", what, "wall")
        rows.append(
            [NAMES.get(tool, tool), spread(cells, seconds), str(len(cells))]
            + ["–" if against is None else f"{against:.2f} ×"]
            + [seconds(figures.median(kind, size, tool, what, "cpu")), megabytes(received)]
            + [megabytes(figures.median(kind, size, tool, what, "stored"))]
            + [seconds(figures.median(kind, size, tool, other, "wall")) for other in beside]
        )
    if rows:
        header = ["", "time", "restores", "against Sealift (vacuum)", "CPU", "received", "stored", *map(word, beside)]
        yield (
            "## Restore at the end of a chain\n\nThe newest version of the 64 MiB OLTP database after a first push and "
            "thirty more, each after 1 % of updates: one chain of each tool, restored again and again. rclone and the "
            "shell script keep whole files, and no chain."
            f"{measured_on(all_cells)}\n\n"
            + table(header, rows)
        )


def studies(figures):
    rows, all_cells = [], []
    for kind, size, tool, what in sorted(figures.groups, key=lambda key: (in_bytes(key[1]), key)):
        if tool.endswith("+key") or tool == "zstd" or what == "start" or what.startswith("list-"):
            cells = list(figures.runs(kind, size, tool, what).values())
            all_cells += cells
            times = [
                spread([cell[metric] for cell in cells if tells(cell, metric)], seconds, len(cells))
                for metric in ("wall", "cpu")
            ]
            peak, resident, sent, requests = (
                [cell[metric] for cell in cells] for metric in ("anonymous", "resident", "sent", "requests")
            )
            rows.append(
                [
                    what,
                    tool,
                    f"{size}iB" if size != "0" else "",
                    *times,
                    mebibytes(max(peak)),
                    mebibytes(max(resident)) if max(resident) else "–",
                    megabytes(statistics.median(sent)),
                ]
                + [count(statistics.median(requests)), str(len(cells))]
            )
    if rows:
        header = ["what", "tool", "database", "time", "CPU", "anonymous", "resident", "sent", "requests", "runs"]
        yield (
            "## Further studies\n\n`+key`: opened by a key file instead of a passphrase; its `restore` is of the "
            f"version after `update1`. *Anonymous* and *resident*: the greatest peak of all runs.{alone(figures)}"
            f"{measured_on(all_cells)}\n\n"
            + table(header, rows)
        )


def alone(figures):
    """The large databases that no rival was measured with."""
    tools = {}
    for _, size, tool, _ in figures.groups:
        tools.setdefault(size, set()).add(tool)
    large = [size for size in sorted(tools, key=in_bytes) if in_bytes(size) > 1 << 30]
    return "".join(f" Of {size}iB only Sealift was measured." for size in large if all(map(is_ours, tools[size])))


def profile(figures):
    """Shares of CPU time by library."""
    rows, columns = [], []
    for kind, size, tool, what in sorted(figures.groups, key=lambda key: (in_bytes(key[1]), key)):
        for cell in figures.runs(kind, size, tool, what).values():
            if shares := cell.get("shares"):
                columns += [name for name in shares if name not in columns]
                # The restore of this study is of the version after the update.
                step = word("restore-update1" if what == "restore" else what)
                rows.append((tool.split("/")[1].split("+")[0], f"{size}iB", step, cell, shares))
    if not rows:
        return
    # What takes most, over all rows, comes first.
    columns.sort(key=lambda name: -sum(row[-1].get(name, 0) for row in rows))
    lines = [
        [what, method, size, seconds(cell["cpu"])]
        + [f"{cell[name] / cell['wall']:.1f}" if name in cell else "–" for name in ("cpu", "busy")]
        + [f"{shares.get(name, 0):.0%}" for name in columns]
        for method, size, what, cell, shares in rows
    ]
    yield (
        "## What bounds it\n\nWhere Sealift's CPU time goes, by library (samples of one run each, opened by a key file)."
        f"{measured_on([cell for *_, cell, _ in rows])} *Cores* is "
        "CPU over wall time; *of the machine* counts what the S3 server and the measuring take on the same cores "
        "too: near the number of cores, time is what all this work takes and nothing waits.\n\n"
        + table(["what", "method", "database", "CPU", "cores", "of the machine", *columns], lines)
    )


def floors(figures):
    """How much of a rival's whole time SQLite alone takes to copy and check, beside what Sealift takes."""
    rows = []
    for size in figures.sizes("oltp"):
        for method, floor in FLOORS.items():
            for what in ("first", "update1"):
                ratios = [
                    figures.ratio("oltp", size, tool, rival, what, "wall")
                    for rival in ("restic", "litestream/once")
                    for tool in (floor, f"sealift/{method}")
                ]
                if None not in ratios:
                    rows.append([word(what), method, f"{size}iB", *map("{:.2f} ×".format, ratios)])
    if rows:
        header = ["what", "method", "database", "SQLite alone / restic", "Sealift / restic"]
        yield (
            "## What SQLite alone takes\n\nThe copy (`VACUUM INTO` or `.backup`) and its `quick_check` by the "
            "`sqlite3` program, one after the other, and nothing else: no reading, no sealing, no sending. Sealift "
            "makes such a copy and checks it too, but seals meanwhile. Where its whole push is the faster one, what "
            "`sqlite3` takes is no bound.\n\n"
            + table([*header, "SQLite alone / Litestream -once", "Sealift / Litestream -once"], rows)
        )


def shown(value):
    """Without the folders of the machine that measured."""
    return re.sub(r"/\S*/", "", str(value)).replace("|", "/")


def failures(figures):
    if figures.failed:
        names = ("kind", "size", "tool", "what", "run", "error")
        rows = [[shown(cell[name])[-160:] for name in names] for cell in figures.failed]
        yield "## Failed\n\n" + table(names, rows)
