#!/usr/bin/python3
"""A database of 10 GiB: the first push, one changed page, an unchanged push, the way back. Sealift alone, both
methods, by key file."""

from story import Story
from studies.matrix import begin
from tools.base import change_in_place
from tools.sealift import BY_KEY_FILE

KIND, SIZE = "oltp", "10G"


def run(bench):
    for turn in range(1, min(bench.options.runs, 2) + 1):
        for tool in BY_KEY_FILE:
            if not bench.results.has(KIND, SIZE, tool.name, "restore", turn):
                measure_tool(bench, tool, turn)


def measure_tool(bench, tool, turn):
    base = bench.stock.base(KIND, SIZE)
    with Story(bench, tool, KIND, SIZE, turn) as story:
        if not begin(story, base):
            return
        change_in_place(story.room, KIND, "onepage", turn)
        story.pause()
        story.cell("onepage", story.tool.push)
        story.cell("unchanged", story.tool.push)
        story.cell("restore", story.restored(story.room.live, story.tool.restore))
