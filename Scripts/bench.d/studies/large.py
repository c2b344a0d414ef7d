#!/usr/bin/python3
"""A database of 10 GiB: the first push, one changed page, an unchanged push, 1 % updates, the way back. Sealift alone,
both methods, by key file. First push, 1 % updates and the restore after them are what the memory study has of smaller
ones: so memory of 10 GiB is compared with memory of 1 GiB after the same steps.

What comes back is compared by its SHA-256 with what was noted at push: looking at all rows of 10 GiB takes minutes.
"""

import hashlib, json

import measure
from story import Story
from studies.matrix import begin
from tools.base import change_in_place
from tools.sealift import BY_KEY_FILE

KIND, SIZE = "oltp", "10G"
CELLS = ("first", "onepage", "unchanged", "update1", "restore")


def run(bench):
    for turn in bench.runs:
        for tool in BY_KEY_FILE:
            if not all(bench.results.has(KIND, SIZE, tool.name, what, turn, timed=False) for what in CELLS):
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
        change_in_place(story.room, KIND, "update1", turn)
        story.cell("update1", story.tool.push)
        story.cell("restore", lambda: restore(story))


def restore(story):
    output = f"{story.room.folder}/out/restored.db"
    story.tool.restore(output)
    shown = story.room.output(story.tool.command("show", "latest", "--json"), story.tool.settings())
    with open(output, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != json.loads(shown)["version"]["sha256"]:
            raise measure.Failed("the restored database is not what was pushed")
