#!/usr/bin/python3
"""How long the command takes to start: `sealift --version`, the median of twenty in each run."""

import os, statistics, time

import measure
from story import Story
from tools.sealift import SealiftVacuum


def run(bench):
    for turn in range(1, bench.options.runs + 1):
        if SealiftVacuum not in bench.tools or bench.results.has("none", "0", SealiftVacuum.name, "start", turn):
            continue
        with Story(bench, SealiftVacuum, "none", "0", turn) as story:
            story.cell("start", lambda: starts(story))


def starts(story):
    """Nothing but the command: no shell, no sampling of memory, no log."""
    program, environment = f"{story.room.programs}/sealift", story.room.environment()
    silent, walls = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)], []
    for _ in range(20):
        began = time.monotonic()
        pid = os.posix_spawn(program, ["sealift", "--version"], environment, file_actions=silent)
        _, status, used = os.wait4(pid, 0)
        if status != 0:
            raise measure.Failed(f"sealift --version ended with {os.waitstatus_to_exitcode(status)}")
        walls.append(time.monotonic() - began)
    story.room.meter.total += measure.Usage(
        statistics.median(walls), used.ru_utime + used.ru_stime, 0, used.ru_maxrss << 10
    )
