#!/usr/bin/python3
"""Peak memory of first push, a push after 1 % of updates, and restore, at each size.

By key file: a passphrase takes memory of its own, on purpose, and gives it back before the work begins.
"""

from story import Story
from studies.matrix import begin
from tools.sealift import BY_KEY_FILE

KIND = "oltp"


def run(bench):
    for size in bench.options.size:
        for turn in bench.runs:
            for tool in BY_KEY_FILE:
                cells = ("first", "update1", "restore")
                if not all(bench.results.has(KIND, size, tool.name, what, turn, timed=False) for what in cells):
                    measure_tool(bench, tool, size, turn)


def measure_tool(bench, tool, size, turn):
    base, changed = bench.stock.base(KIND, size), bench.stock.changed(KIND, size, "update1")
    with Story(bench, tool, KIND, size, turn) as story:
        if begin(story, base):
            story.room.place(changed)
            story.cell("update1", story.tool.push)
            story.cell("restore", story.restored(changed, story.tool.restore))
