#!/usr/bin/python3
"""Where Sealift's own CPU time goes, by library: what bounds a push and a restore when it is not the wire.

`perf record` samples first push, a push after 1 % of updates and a restore, by both ways of copying, opened by a key
file. It slows the program a little, so times are those of the other studies.
"""

import os, subprocess

import measure
from story import Story
from tools.sealift import KeyFilePages, KeyFileVacuum

KIND = "oltp"
NAMES = {
    "libsqlite3": "SQLite",
    "libzstd": "zstd",
    "libcrypto": "SHA-256, HMAC, AES-GCM",
    "[kernel": "kernel",
    "sealift": "Sealift",
    "libcurl": "libcurl",
    "libc.": "C library",
}


def sampled(tool):
    """The same tool, its commands run by `perf record`."""

    class Sampled(tool):
        name = tool.name.replace("+key", "+profile")

        def command(self, *arguments):
            command = super().command(*arguments)
            if arguments[0] == "init":
                return command
            return ["perf", "record", "-q", "-F", "997", "-o", f"{self.room.folder}/out/perf.data", "--", *command]

    return Sampled


def run(bench):
    for size in bench.options.size:
        for tool in (KeyFileVacuum, KeyFilePages):
            tool = sampled(tool)
            if not bench.results.has(KIND, size, tool.name, "restore", 1):
                measure_tool(bench, tool, size)


def measure_tool(bench, tool, size):
    base, changed = bench.stock.base(KIND, size), bench.stock.changed(KIND, size, "update1")
    with Story(bench, tool, KIND, size, 1) as story:
        room = story.room

        def profiled(what, action):
            shares = {}

            def sample():
                action()
                shares.update(by_library(f"{room.folder}/out/perf.data"))

            return story.cell(what, sample, shares=shares)

        story.tool.prepare()
        room.place(base)
        story.pause()
        if profiled("first", story.tool.push):
            room.place(changed)
            profiled("update1", story.tool.push)
            profiled("restore", story.restored(changed, story.tool.restore))


def by_library(data):
    """Name → share of all samples, 0 to 1."""
    answer = subprocess.run(
        ["perf", "report", "-i", data, "--sort", "dso", "--stdio", "-g", "none"], capture_output=True, text=True
    )
    if answer.returncode != 0:
        raise measure.Failed(f"perf report ended with {answer.returncode}: {answer.stderr[-200:]}")
    os.unlink(data)
    found = {}
    for line in answer.stdout.splitlines():
        fields = line.split()
        if len(fields) < 2 or not fields[0].endswith("%"):
            continue
        name = next((name for prefix, name in NAMES.items() if fields[1].startswith(prefix)), "other")
        found[name] = round(found.get(name, 0) + float(fields[0][:-1]) / 100, 4)
    return found
