#!/usr/bin/python3
"""A database of 10 GiB: the first push, one changed page, an unchanged push, the way back. Sealift alone, both
methods, by key file.

What comes back is compared by its SHA-256 with what was noted at push: looking at all rows of 10 GiB takes minutes.
"""

import hashlib, json

import measure
from story import Story
from studies.matrix import begin
from tools.base import change_in_place
from tools.sealift import BY_KEY_FILE

KIND, SIZE = "oltp", "10G"


def run(bench):
    for turn in range(1, min(bench.options.runs, 2) + 1):
        for tool in BY_KEY_FILE:
            if not bench.results.has(KIND, SIZE, tool.name, "restore", turn, timed=False):
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
        story.cell("restore", lambda: restore(story))


def restore(story):
    output = f"{story.room.folder}/out/restored.db"
    story.tool.restore(output)
    shown = story.room.output(story.tool.command("show", "latest", "--json"), story.tool.settings())
    with open(output, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != json.loads(shown)["version"]["sha256"]:
            raise measure.Failed("the restored database is not what was pushed")
