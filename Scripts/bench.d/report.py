#!/usr/bin/python3
"""Writes Docs/Benchmarks.md and its charts from the cells: every figure there comes from here."""
import json, os, statistics

import charts, method, targets
from figures import Figures, as_ratio, in_bytes, mebibytes, megabytes, seconds
from kinds import KINDS
from results import Results

DOCS = f"{os.path.dirname(os.path.abspath(__file__))}/../../Docs"
FAMILIES = ["sealift/vacuum", "sealift/pages", "restic", "borg", "duplicity", "rclone", "litestream/daemon", "litestream/once", "shell"]
LIMITS = ["limit/patch", "limit/pagelevel", "limit/pagelevel-backup", "limit/zstd1", "limit/zstd3"]
PUSHES = ["first", "unchanged", *targets.CHANGES]
NAMES = {
    "sealift/vacuum": "**Sealift**, vacuum (default)", "sealift/pages": "**Sealift**, pages", "restic": "restic", "borg": "borg + rclone",
    "duplicity": "duplicity", "rclone": "rclone crypt", "litestream/daemon": "Litestream daemon", "litestream/once": "Litestream -once",
    "shell": "shell script", "limit/patch": "*zstd -3 --long=31 --patch-from*", "limit/pagelevel": "*new pages + zstd -3, vacuumed*",
    "limit/pagelevel-backup": "*new pages + zstd -3, .backup*", "limit/zstd1": "*zstd -1, vacuumed*", "limit/zstd3": "*zstd -3, vacuumed*",
}
WORDS = {
    "first": "first push", "unchanged": "unchanged", "update0.1": "0.1 % updates", "update0.1grow": "0.1 % growing", "update1": "1 % updates",
    "update1grow": "1 % growing", "append1": "1 % appended", "delete30": "30 % deleted", "schema": "column, index", "vacuum": "VACUUM", "restore": "restore",
}


def write(folder):
    figures = Figures(Results(folder))
    with open(f"{folder}/machine.json") as file:
        machine = json.load(file)
    drawn = draw(figures)
    parts = [heading(figures, machine), *target_table(figures), *pictures(drawn), *kinds(figures), *sustained(figures), *studies(figures), method.TEXT.strip(), *failures(figures)]
    with open(f"{DOCS}/Benchmarks.md", "w") as file:
        file.write("\n\n".join(parts) + "\n")
    print("bench: wrote Docs/Benchmarks.md", flush=True)


def heading(figures, machine):
    loads = [cell["load"] for runs in figures.groups.values() for cell in runs.values()]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (f"# Benchmarks\n\nWritten by `Scripts/bench` from {len(loads)} measured cells; no figure is by hand. {machine['date']}, {machine['processor']}, "
            f"{machine['cores']} cores, {machine['memory']} of memory, {machine['kernel']}. {versions}. The S3 server ran on the same cores. "
            f"Before a cell the machine's load was {statistics.median(loads) if loads else 0:.1f} in the median, {max(loads, default=0):.1f} at most.")


def table(header, rows):
    def line(cells):
        return "| " + " | ".join(cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *(line(row) for row in rows)])


def target_table(figures):
    size, rows = targets.rows(figures)
    verdicts = {True: "met", False: "**not met**", None: "not measured"}
    met = sum(row[3] is True for row in rows)
    yield (f"## Targets\n\nOn the OLTP database of {size}iB unless said; ratios are medians of ratios within one run. "
           f"Met: {met}; not met: {sum(row[3] is False for row in rows)}; not measured: {sum(row[3] is None for row in rows)}.")
    yield table(["what", "target", "measured", ""], [[what, limit, value, verdicts[verdict]] for what, limit, value, verdict in rows])


def spread(values, show):
    """Median, and in brackets the least and the most when there are several."""
    if not values:
        return "–"
    middle = show(statistics.median(values))
    if len(values) == 1 or show(min(values)) == show(max(values)):
        return middle
    return f"{middle} ({show(min(values))}–{show(max(values))})"


def measured(figures, kind, size, rows):
    return [tool for tool in rows if figures.all_runs(kind, size, tool)]


def matrix(figures, kind, size, tools, columns, metric, show):
    rows = [[NAMES[tool], *(spread(figures.values(kind, size, tool, what, metric), show) for what in columns)] for tool in tools]
    return table(["", *(WORDS[what] for what in columns)], rows)


def kinds(figures):
    for kind in figures.kinds():
        for size in figures.sizes(kind):
            if in_bytes(size) > 1 << 30:
                continue
            tools, limits = measured(figures, kind, size, FAMILIES), measured(figures, kind, size, LIMITS)
            runs = max((len(figures.all_runs(kind, size, tool)) for tool in tools), default=0)
            yield f"## {KINDS[kind].title[0].upper()}{KINDS[kind].title[1:]} — {size}iB\n\nUp to {runs} runs; median (least–most)."
            yield "### Bytes sent\n\n" + matrix(figures, kind, size, tools + limits, PUSHES, "sent", megabytes)
            yield "### How many times what Sealift (vacuum) sent\n\n" + times_table(figures, kind, size, tools + limits)
            yield "### Time, copies included\n\n" + matrix(figures, kind, size, tools + limits, [*PUSHES, "restore"], "wall", seconds)
            yield "### CPU\n\n" + matrix(figures, kind, size, tools + limits, ["first", "update1", "unchanged", "restore"], "cpu", seconds)
            yield "### Peak anonymous memory\n\n" + matrix(figures, kind, size, tools + limits, ["first", "update1", "restore"], "anonymous", mebibytes)
            yield "### Peak disk of its own, beyond what it keeps between pushes\n\n" + matrix(figures, kind, size, tools, ["first", "update1"], "disk", megabytes)
            yield "### Requests\n\n" + matrix(figures, kind, size, tools, ["first", "update1", "unchanged", "restore"], "requests", lambda value: f"{value:.0f}")
            yield "### Bytes stored after it\n\n" + matrix(figures, kind, size, tools, ["first", "update1"], "stored", megabytes)
            yield "### Which copy suited a tool better\n\n" + better(figures, kind, size)


def times_table(figures, kind, size, tools):
    def ratio(tool, what):
        value = figures.ratio(kind, size, tool, "sealift/vacuum", what, "sent")
        return "–" if value is None else f"{value:.2g}" if value < 10 else f"{value:.0f}"

    columns = ["first", *targets.CHANGES]
    return table(["", *(WORDS[what] for what in columns)], [[NAMES[tool], *(ratio(tool, what) for what in columns)] for tool in tools if tool != "sealift/vacuum"])


def better(figures, kind, size):
    rows = []
    for family in ("restic", "borg", "duplicity", "rclone"):
        for variant in figures.variants(family, size):
            if not figures.runs(kind, size, variant, "first"):
                continue
            cells = [figures.runs(kind, size, variant, what).values() for what in ("first", "update1")]
            figure = [f"{megabytes(statistics.median(cell['sent'] for cell in found))}, {seconds(statistics.median(cell['wall'] for cell in found))} "
                      f"of which the copy {seconds(statistics.median(cell['copy'] for cell in found))}" if found else "–" for found in cells]
            rows.append([family, {"vacuum": "VACUUM INTO", "backup": ".backup"}[variant.split("/")[1]], *figure])
    return table(["", "copy by", "first push", "after 1 % updates"], rows)


def sustained(figures):
    for series, title in (("mixed", "mixed changes"), ("update1", "1 % updates alone")):
        rows = []
        for tool in ("sealift/vacuum", "sealift/pages", "restic/vacuum", "restic/backup", "duplicity/vacuum", "duplicity/backup", "limit/pagelevel", "limit/pagelevel-backup"):
            sent, walls = targets.series(figures, tool, series), targets.series(figures, tool, series, "wall")
            if not sent:
                continue
            stored = targets.series(figures, tool, series, "stored")
            kept = sum(stored) if tool.startswith("limit") else stored[-1]
            first, *others = (figures.median("oltp", "64M", tool, f"{series}-{what}", metric) for what, metric in (
                ("000", "sent"), ("restore030", "wall"), (f"restore{len(sent):03}", "wall")))
            rows.append([tool, str(len(sent)), megabytes(first), megabytes(statistics.mean(sent)), megabytes(statistics.median(sent)), megabytes(max(sent)),
                         seconds(statistics.mean(walls)), megabytes(kept), *map(seconds, others)])
        if rows:
            yield (f"## Many versions: {title}\n\nA 64 MiB OLTP database, changed and pushed again and again.\n\n"
                   + table(["", "pushes", "first push", "mean of the others", "median", "greatest", "mean time", "stored at the end", "restore at 30", "restore at the end"], rows))
            yield from any_version(figures, series)


def any_version(figures, series):
    for tool in ("sealift/vacuum", "sealift/pages"):
        found = [(number, figures.median("oltp", "64M", tool, f"{series}-any{number:03}", "wall"), figures.median("oltp", "64M", tool, f"{series}-any{number:03}", "received"))
                 for number in range(0, 101, 10)]
        if any(wall for _, wall, _ in found):
            known = [one for one in found if one[1] is not None]
            yield f"Restore of older versions, {tool}:\n\n" + table(["version", *(str(number) for number, _, _ in known)], [
                ["time", *(seconds(wall) for _, wall, _ in known)], ["received", *(megabytes(size) for _, _, size in known)]])


def studies(figures):
    rows = []
    for kind, size, tool, what in sorted(figures.groups, key=lambda key: (in_bytes(key[1]), key)):
        if tool.endswith("+key") or tool == "zstd" or what in ("start",) or what.startswith("list-"):
            cells = list(figures.runs(kind, size, tool, what).values())
            rows.append([what, tool, f"{size}iB" if size != "0" else "", spread([cell["wall"] for cell in cells], seconds), spread([cell["cpu"] for cell in cells], seconds),
                         mebibytes(max(cell["anonymous"] for cell in cells)), megabytes(statistics.median(cell["sent"] for cell in cells)),
                         f"{statistics.median(cell['requests'] for cell in cells):.0f}", str(len(cells))])
    if rows:
        yield "## Further studies\n\n`+key`: opened by a key file instead of a passphrase.\n\n" + table(
            ["what", "tool", "database", "time", "CPU", "peak memory", "sent", "requests", "runs"], rows)


def failures(figures):
    if figures.failed:
        rows = [[cell["kind"], cell["size"], cell["tool"], cell["what"], str(cell["run"]), cell["error"].replace("|", "/")[-160:]] for cell in figures.failed]
        yield "## Failed\n\n" + table(["kind", "size", "tool", "what", "run", "how"], rows)


def draw(figures):
    """Writes the charts that there are figures for: (file name, title)."""
    drawn = {}
    for kind in figures.kinds():
        size = [size for size in figures.sizes(kind) if in_bytes(size) <= 1 << 30][-1]
        tools = measured(figures, kind, size, FAMILIES) + measured(figures, kind, size, ["limit/patch", "limit/pagelevel"])
        groups = [(WORDS[what], [(tool, figures.median(kind, size, tool, what, "sent")) for tool in tools]) for what in ("first", *targets.CHANGES)]
        drawn[f"bytes-{kind}"] = (f"Bytes sent, {kind}, {size}iB (logarithmic)", charts.bars(f"Bytes sent, {kind}, {size}iB (logarithmic)", groups, megabytes))
        for what in ("first", "update1"):
            series = [(tool, [(in_bytes(size), figures.median(kind, size, tool, what, "wall")) for size in figures.sizes(kind)]) for tool in FAMILIES]
            title = f"Time of a push, {WORDS[what]}, {kind}, against the size of the database (both logarithmic)"
            drawn[f"time-{kind}-{what}"] = title, charts.lines(title, [one for one in series if any(y for _, y in one[1])], lambda x: f"{x >> 20} MiB", seconds)
    for name in targets_series(figures):
        series = [(tool, list(enumerate(targets.series(figures, tool, name), 1))) for tool in ("sealift/vacuum", "sealift/pages", "restic/vacuum", "duplicity/backup", "limit/pagelevel")]
        title = f"Bytes of each push, {name}, 64 MiB OLTP (logarithmic)"
        drawn[f"sustained-{name}"] = title, charts.lines(title, [one for one in series if one[1]], str, megabytes, logarithmic_x=False)
    os.makedirs(f"{DOCS}/charts", exist_ok=True)
    for name in os.listdir(f"{DOCS}/charts"):
        os.unlink(f"{DOCS}/charts/{name}")
    for name, (_, picture) in drawn.items():
        if picture:
            with open(f"{DOCS}/charts/{name}.svg", "w") as file:
                file.write(picture)
    return [(name, title) for name, (title, picture) in drawn.items() if picture]


def targets_series(figures):
    return [name for name in ("mixed", "update1") if any(what == f"{name}-001" for _, _, _, what in figures.groups)]


def pictures(drawn):
    if drawn:
        yield "## Charts\n\n" + "\n\n".join(f"![{title}](charts/{name}.svg)" for name, title in drawn)
