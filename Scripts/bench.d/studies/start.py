#!/usr/bin/python3
"""How long the command takes to start: `sealift --version`, twenty times in each run; the median of them is the run's."""
import statistics

from room import Meter
from story import Story
from tools.sealift import SealiftVacuum


def run(bench):
    for turn in range(1, bench.options.runs + 1):
        if SealiftVacuum not in bench.tools or bench.results.has("none", "0", SealiftVacuum.name, "start", turn):
            continue
        with Story(bench, SealiftVacuum, "none", "0", turn) as story:
            walls = []

            def starts():
                for _ in range(20):
                    story.room.meter = Meter()
                    story.room.step([f"{bench.programs}/sealift", "--version"])
                    walls.append(story.room.meter.total.wall)
                story.room.meter.total.wall = statistics.median(walls)

            story.cell("start", starts)
