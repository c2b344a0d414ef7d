#!/usr/bin/python3
"""How long the command takes to start: `sealift --version`, the median of twenty in each run; and `curl --version` beside
it, a C program that binds the same libraries.
"""

import os, statistics, time

import measure
from story import Story
from tools.base import Tool
from tools.sealift import SealiftVacuum


class Curl(Tool):
    name = "curl"


def run(bench):
    if SealiftVacuum not in bench.tools:
        return
    for turn in bench.runs:
        for tool, program in ((SealiftVacuum, f"{bench.programs}/sealift"), (Curl, "/usr/bin/curl")):
            if not bench.results.has("none", "0", tool.name, "start", turn):
                with Story(bench, tool, "none", "0", turn) as story:
                    story.cell("start", lambda: starts(story, program))


def starts(story, program):
    """Nothing but the command: no shell, no sampling of memory, no log."""
    environment = story.room.environment()
    silent, walls = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)], []
    for _ in range(20):
        began = time.monotonic()
        pid = os.posix_spawn(program, [program, "--version"], environment, file_actions=silent)
        _, status, used = os.wait4(pid, 0)
        if status != 0:
            raise measure.Failed(f"{program} --version ended with {os.waitstatus_to_exitcode(status)}")
        walls.append(time.monotonic() - began)
    story.room.meter.total += measure.Usage(
        statistics.median(walls), used.ru_utime + used.ru_stime, 0, used.ru_maxrss << 10
    )
