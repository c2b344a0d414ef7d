#!/usr/bin/python3
"""The list of 1,000 versions, with and without what this machine remembers: Sealift, restic, borg.

Sealift's versions are pushed with a key file beside the passphrase, because a thousand derivations of a key from a
passphrase would take ten minutes and measure nothing; its lists are measured by passphrase (`list-…`)
and by key file (`list-…-key`). No push is measured.
"""

import os, shutil

import databases
from story import Story
from tools.borg import BorgBackup
from tools.restic import ResticBackup
from tools.sealift import SealiftPages

KIND, SIZE = "events", "1M"


def run(bench):
    for tool, lister in ((SealiftPages, SealiftLists), (ResticBackup, ResticLists), (BorgBackup, BorgLists)):
        if tool in bench.tools:
            measure_tool(bench, tool, lister)


def measure_tool(bench, tool, lister):
    missing = [
        (name, turn)
        for turn in bench.runs
        for name in lister.lists
        if not bench.results.has(KIND, SIZE, tool.name, name, turn)
    ]
    if not missing:
        return
    with Story(bench, tool, KIND, SIZE, 0) as story:
        lists = lister(story)
        push_all(bench, story, lists)
        for name, turn in missing:
            story.run = turn
            story.cell(name, lists.action(name), versions=bench.options.listed)


def push_all(bench, story, lists):
    room, tool = story.room, story.tool
    tool.prepare()
    room.place(bench.stock.base(KIND, SIZE))
    lists.prepare()
    for number in range(1, bench.options.listed + 1):
        databases.change(KIND, "onepage", number, room.live)
        lists.push(number)
        if number % 100 == 0:
            print(f"{number} of {bench.options.listed} versions to list are pushed by {tool.name}", flush=True)
    lists.end()


class Lists:
    """What one tool needs to push many versions unmeasured, and to list them."""

    lists = ["list-cold", "list-warm"]

    def __init__(self, story):
        self.room, self.tool = story.room, story.tool

    def prepare(self):
        pass

    def push(self, number):
        raise NotImplementedError

    def end(self):
        """After the last push, before the first list."""

    def action(self, name):
        """What is measured."""
        raise NotImplementedError

    def copy(self):
        self.room.take_copy("backup")

    @property
    def cold(self):
        """A place where nothing is remembered."""
        shutil.rmtree(f"{self.room.folder}/cold", ignore_errors=True)
        return f"{self.room.folder}/cold"


class SealiftLists(Lists):
    lists = ["list-cold", "list-cold-key", "list-warm", "list-warm-key"]

    def prepare(self):
        self.key = f"{self.room.folder}/key"
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(64))
        self.room.output(self.tool.command("key", "add", "--new-key-file", self.key), self.tool.settings())

    def push(self, number):
        self.room.output(
            self.tool.command("--key-file", self.key, "push", self.room.live, "--method", "pages"),
            {"SEALIFT_STATE": self.room.state},
        )

    def action(self, name):
        def listing():
            settings = self.tool.settings(self.cold if "cold" in name else None)
            if not name.endswith("-key"):
                return self.room.step(self.tool.command("list"), settings)
            del settings["SEALIFT_PASSPHRASE_FILE"]
            self.room.step(self.tool.command("--key-file", self.key, "list"), settings)

        return listing


class ResticLists(Lists):
    def push(self, number):
        self.copy()
        self.room.output(self.tool.command("backup", self.room.copy))

    def action(self, name):
        def listing():
            # The last one of a setting that is given twice counts.
            cache = ["--cache-dir", self.cold] if "cold" in name else []
            self.room.step(self.tool.command(*cache, "snapshots"))

        return listing


class BorgLists(Lists):
    def push(self, number):
        self.copy()
        archive = f"{self.tool.repository}::{number}"
        self.room.output(["borg", "create", "--compression", "zstd,3", archive, self.room.copy], self.tool.environment())

    def end(self):
        self.tool.sync(self.tool.repository, f"s:{self.room.path}")

    def action(self, name):
        def listing():
            environment, repository = self.tool.environment(), self.tool.repository
            if "cold" in name:
                # Another machine has to fetch all of it first.
                environment["BORG_BASE_DIR"] = self.cold
                repository = f"{self.room.folder}/tmp/repository"
                shutil.rmtree(repository, ignore_errors=True)
                self.tool.sync(f"s:{self.room.path}", repository)
            self.room.step(["borg", "list", repository], environment)

        return listing
