#!/usr/bin/python3
"""What zstd's levels cost: a first push at each of them, of orders and of blobs that nothing can compress.

Vacuumed, as by default, and opened by a key file: deriving a key from a passphrase would stand in every figure. Nothing
is pushed after it, so no database has to lie still before. All levels of a run are measured in one go: CPU times of
different days or machines say nothing beside one another.
"""

import json

from story import Story
from tools.sealift import KeyFileVacuum

DATABASES = (("oltp", "128M"), ("blobs", "64M"))
LEVELS, DEFAULT = (0, 1, 3, 6, 9, 12, 19), 1


class Leveled(KeyFileVacuum):
    """Pushes as the default does, but for the level, which only a configuration gives."""

    name, title = "sealift/vacuum+level", "Sealift (vacuum, by key file, at some level)"

    def push_at(self, level):
        configuration = f"{self.room.folder}/config.json"
        with open(configuration, "w") as file:
            json.dump({"databases": {"app": {"path": self.room.live, "compression": level}}}, file)
        self.room.step(self.command("--config", configuration, "push", "app"), self.settings())


def cell(level):
    return f"level-{level}"


def run(bench):
    for turn in bench.runs:
        wanted = [(kind, size, Leveled.name, cell(level), turn) for kind, size in DATABASES for level in LEVELS]
        if not all(bench.results.has(*key) for key in wanted) or not bench.results.are_of_one_sitting(*wanted):
            for kind, size in DATABASES:
                for level in LEVELS:
                    measure_level(bench, kind, size, level, turn)


def measure_level(bench, kind, size, level, turn):
    with Story(bench, Leveled, kind, size, turn) as story:
        story.tool.prepare()
        story.room.place(bench.stock.base(kind, size))
        story.cell(cell(level), lambda: story.tool.push_at(level))
