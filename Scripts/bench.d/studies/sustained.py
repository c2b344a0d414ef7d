#!/usr/bin/python3
"""Many versions of one OLTP database, one after the other: what a push costs on average,
and what a chain does to restores. Of 64 MiB, or of each --size.

Two series: 1 % updates alone, and mixed changes as they come over the months; in each run other rows change. Each push is
a cell `SERIES-001` and so on; beside them `SERIES-restore030`, the newest version when there are 30, `SERIES-restore100` at
the end, and for Sealift also `SERIES-any010` … of older versions, and at last `SERIES-onepage`, when one row was changed
after all that. The limit is page-level deduplication, computed.

The server holds all in memory. Of 1 GiB a hundred versions of restic do not fit, twenty do: it is measured with
`--versions 20`, and their mean is what all of Sealift's stand against.
"""

import os

import databases
from story import Story

KIND = "oltp"
TOOLS = (
    "sealift/vacuum",
    "sealift/pages",
    "restic/vacuum",
    "restic/backup",
    "duplicity/vacuum",
    "duplicity/backup",
    "limit/pagelevel",
    "limit/pagelevel-backup",
)
CYCLE = (
    "update0.1",
    "append1",
    "update0.1grow",
    "update1",
    "append1",
    "update0.1",
    "update1grow",
    "update0.1",
    "append1",
    "update0.1",
)


def mixed(turn):
    """Mostly small updates and rows added; now and then all that is rare."""
    rare = {20: "schema", 40: "delete30", 60: "vacuum", 70: "schema", 90: "delete30"}
    return rare.get(turn, CYCLE[turn % len(CYCLE)])


SERIES = {"update1": lambda turn: "update1", "mixed": mixed}


def run(bench):
    for size in bench.options.series_size:
        for turn in bench.runs:
            for series in bench.options.series:
                for tool in bench.tools:
                    if tool.name in TOOLS:
                        measure_series(bench, tool, size, series, turn)


def measure_series(bench, tool, size, series, turn):
    count = bench.options.versions
    names = [f"{series}-{number:03}" for number in range(count + 1)]
    if all(bench.results.has(KIND, size, tool.name, name, turn, timed=False) for name in names):
        return
    with Story(bench, tool, KIND, size, turn) as story:
        story.tool.prepare()
        story.room.place(bench.stock.base(KIND, size))
        story.pause()
        if not story.cell(f"{series}-000", story.tool.push):
            return
        known = {0: databases.digest(story.room.live)}
        for number in range(1, count + 1):
            databases.change(KIND, SERIES[series](number), number + 1000 * (turn - 1), story.room.live)
            if not story.cell(f"{series}-{number:03}", story.tool.push, change=SERIES[series](number)):
                return
            if number % 10 == 0:
                known[number] = databases.digest(story.room.live)
            if number in (30, count) and story.tool.restore is not None:
                story.cell(f"{series}-restore{number:03}", story.restored(story.room.live, story.tool.restore))
        if tool.name.startswith("sealift/"):
            restore_any(story, series, known)
            databases.change(KIND, "onepage", turn, story.room.live)
            story.cell(f"{series}-onepage", story.tool.push)


def restore_any(story, series, known):
    """Every tenth version, compared with what the database held then; and what versions need."""
    versions, output = story.tool.versions(), f"{story.room.folder}/out/any.db"
    for number, digest in known.items():

        def restore():
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(output + suffix):
                    os.unlink(output + suffix)
            story.tool.restore(output, versions[number])
            databases.demand(output, digest)

        story.cell(f"{series}-any{number:03}", restore)
    fetched = [story.tool.needs(identifier)[0] for identifier in versions[:: max(1, len(versions) // 20)]]
    story.cell(f"{series}-needs", lambda: None, fetched=fetched)
