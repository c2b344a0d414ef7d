#!/usr/bin/python3
"""The newest version at the end of a chain: thirty pushes after the first one, each after 1 % of updates, then a
restore (`chain-restore`). Every tool that restores, run by run. The pushes are as in the sustained study, and no cells here.

rclone and the shell script keep no chain, each version of theirs is a whole file: they stand here for comparison.
"""

import os, time

from figures import SITTING
from results import is_ours
from story import Story
from studies.matrix import begin, has

KIND, SIZE, LENGTH, CELL = "oltp", "64M", 30, "chain-restore"


def run(bench):
    tools = [tool for tool in bench.tools if tool.restore is not None and not tool.name.startswith("limit/")]
    for turn in bench.runs:
        outdate(bench, tools, turn)
        for tool in tools:
            if not has(bench, KIND, SIZE, tool, CELL, turn):
                measure_tool(bench, tool, turn)


def outdate(bench, tools, turn):
    """As in the matrix: what a rival takes now must have Sealift's own time of now beside it."""
    if not all(has(bench, KIND, SIZE, tool, CELL, turn) for tool in tools):
        ours = [(KIND, SIZE, tool.name, CELL, turn) for tool in tools if is_ours(tool.name)]
        bench.results.outdate(time.time() - SITTING, *ours)


def measure_tool(bench, tool, turn):
    with Story(bench, tool, KIND, SIZE, turn) as story:
        if not begin(story, bench.stock.base(KIND, SIZE), kept=False):
            return
        for number in range(1, LENGTH + 1):
            story.wait_while_paused()
            story.tool.change_further(KIND, "update1", number)
            story.tool.push()
        # The last copy that was pushed is no disk that a restore takes.
        if os.path.exists(story.room.copy):
            os.unlink(story.room.copy)
        story.cell(CELL, story.restored(story.room.live, story.tool.restore), pushes=LENGTH)
