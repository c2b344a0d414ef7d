#!/usr/bin/python3
"""First push, restore, unchanged push and a push after each kind of change: every tool, kind and size, run by run.

Within a run the tools take turns, each with a server that holds nothing else of theirs. Each change is made to the
database of the first push, and each tool is taken back to its state after the first push before it. The newest version
is restored twice: right after the first push (`restore`), which suits whoever keeps changes apart from what they
change, and after 1 % updates (`restore-update1`).
"""

import time

import measure
from figures import SITTING, in_bytes
from results import is_ours
from story import Story

RESTORE_AFTER = {"update1": "restore-update1"}
"""The changes after which the newest version is restored as well, and what that cell is called."""


def run(bench):
    for size in bench.options.size:
        for kind in bench.options.kind:
            for turn in bench.runs:
                outdate(bench, kind, size, turn)
                for tool in bench.tools:
                    measure_tool(bench, tool, kind, size, turn)
            if in_bytes(size) > 256 << 20 and not bench.options.keep:
                bench.stock.drop(kind, size)


def wanted(bench, tool, kind, size, turn):
    missing = [what for what in bench.options.changes if not has(bench, kind, size, tool, what, turn)]
    if not tool.unchanged and "unchanged" in missing:
        missing.remove("unchanged")
    if tool.restore is None:
        missing = [what for what in missing if not what.startswith("restore")]
    if tool.name.startswith("limit/zstd"):
        missing = [what for what in missing if what in ("first", "restore")]
    if tool.name.startswith("limit/sqlite"):
        missing = [what for what in missing if what in ("first", "update1")]
    return missing


def has(bench, kind, size, tool, what, turn):
    """What a rival took on another day says nothing beside what Sealift took today: both are measured again."""
    ours = (kind, size, "sealift/vacuum", what, turn)
    return bench.results.has(kind, size, tool.name, what, turn) and bench.results.are_of_one_sitting(
        ours, (kind, size, tool.name, what, turn)
    )


def outdate(bench, kind, size, turn):
    """Where a rival of this turn will be measured now, Sealift's cells that are too old to stand beside it are measured
    again as well: else the rival would be so each time.
    """
    for what in bench.options.changes:
        lacking = [tool.name for tool in bench.tools if what in wanted(bench, tool, kind, size, turn)]
        if lacking:
            ours = [(kind, size, tool.name, what, turn) for tool in bench.tools if is_ours(tool.name)]
            bench.results.outdate(time.time() - SITTING, *ours)


def measure_tool(bench, tool, kind, size, turn):
    missing = wanted(bench, tool, kind, size, turn)
    if not missing:
        return
    base = bench.stock.base(kind, size)
    prepared = {what: bench.stock.changed(kind, size, what) for what in changes_of(missing)}
    with Story(bench, tool, kind, size, turn) as story:
        if not begin(story, base, kept="first" in missing):
            return
        if "restore" in missing:
            story.cell("restore", story.restored(base, story.tool.restore))
        saved = story.tool.save() if prepared else None
        if "unchanged" in missing:
            story.cell("unchanged", story.tool.push)
        fresh = "unchanged" not in missing
        for what, database in prepared.items():
            if not fresh and not story.tool.rollback(saved):
                again(story, base)
            fresh = False
            pushed, restore = changed_push(story, what, database, kept=what in missing), RESTORE_AFTER.get(what)
            if pushed and restore in missing:
                story.cell(restore, story.restored(database, story.tool.restore))


def changes_of(missing):
    """Which changes to push, each once: also one whose push is known and only the restore after it is not."""
    change_before = {restore: change for change, restore in RESTORE_AFTER.items()}
    changes = [change_before.get(what, what) for what in missing if what not in ("first", "restore", "unchanged")]
    return list(dict.fromkeys(changes))


def begin(story, base, kept=True):
    story.tool.prepare()
    story.room.place(base)
    story.pause()
    return story.cell("first", story.tool.push, kept=kept)


def again(story, base):
    """A tool that cannot be taken back begins anew."""
    story.tool.end()
    story.room.empty()
    story.tool.count = 0
    if not begin(story, base, kept=False):
        raise measure.Failed("it could not be taken back to its state after the first push")


def changed_push(story, what, database, kept):
    def action():
        story.tool.change(database, story.kind, what, 0)
        story.tool.push()

    return story.cell(what, action, kept=kept)
