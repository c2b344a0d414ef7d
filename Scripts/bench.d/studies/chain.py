#!/usr/bin/python3
"""The newest version at the end of a chain: thirty pushes after the first one, each after 1 % of updates, then restores
(`chain-restore`), one for each run. Every tool that restores makes its chain once. The pushes are as in the sustained
study, and no cells here: five chains are not what is asked, and would take five times as long.

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
        if turns := [turn for turn in bench.runs if not has(bench, KIND, SIZE, tool, CELL, turn)]:
            measure_tool(bench, tool, turns)


def outdate(bench, tools, turn):
    """As in the matrix: what a rival takes now must have Sealift's own time of now beside it."""
    if not all(has(bench, KIND, SIZE, tool, CELL, turn) for tool in tools):
        ours = [(KIND, SIZE, tool.name, CELL, turn) for tool in tools if is_ours(tool.name)]
        bench.results.outdate(time.time() - SITTING, *ours)


def measure_tool(bench, tool, turns):
    with Story(bench, tool, KIND, SIZE, turns[0]) as story:
        if not begin(story, bench.stock.base(KIND, SIZE), kept=False):
            return
        for number in range(1, LENGTH + 1):
            story.wait_while_paused()
            story.tool.change_further(KIND, "update1", number)
            story.tool.push()
        # The last copy that was pushed is no disk that a restore takes.
        if os.path.exists(story.room.copy):
            os.unlink(story.room.copy)
        for story.run in turns:
            story.cell(CELL, story.restored(story.room.live, story.tool.restore), pushes=LENGTH)
        story.run = turns[0]  # by which a story that was given up before is known
