#!/usr/bin/python3
"""The list of 1,000 versions, with and without what this machine remembers.

The versions are pushed with a key file beside the passphrase, because a thousand derivations of a key from a passphrase
would take ten minutes and measure nothing; the lists are measured by passphrase (`list-…`)
and by key file (`list-…-key`).
"""

import os, shutil

import databases
from story import Story
from tools.sealift import SealiftPages

KIND, SIZE = "events", "1M"


def run(bench):
    if SealiftPages not in bench.tools:
        return
    names = [f"list-{warmth}{key}" for warmth in ("cold", "warm") for key in ("", "-key")]
    missing = [
        (name, turn)
        for turn in range(1, bench.options.runs + 1)
        for name in names
        if not bench.results.has(KIND, SIZE, SealiftPages.name, name, turn)
    ]
    if not missing:
        return
    with Story(bench, SealiftPages, KIND, SIZE, 0) as story:
        push_all(bench, story)
        for name, turn in missing:
            story.run = turn
            story.cell(
                name, action(story, cold="cold" in name, by_key=name.endswith("-key")), versions=bench.options.listed
            )


def push_all(bench, story):
    room, tool = story.room, story.tool
    tool.prepare()
    room.place(bench.stock.base(KIND, SIZE))
    key = f"{room.folder}/key"
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(64))
    room.output(tool.command("key", "add", "--new-key-file", key), tool.settings())
    for number in range(1, bench.options.listed + 1):
        databases.change(KIND, "onepage", number, room.live)
        room.output(
            tool.command("--key-file", key, "push", room.live, "--method", "pages"), {"SEALIFT_STATE": room.state}
        )
        if number % 100 == 0:
            print(f"{number} of {bench.options.listed} versions to list are pushed", flush=True)


def action(story, cold, by_key):
    room, tool = story.room, story.tool

    def listing():
        settings = tool.settings()
        if cold:
            settings["SEALIFT_STATE"] = f"{room.folder}/cold"
            shutil.rmtree(settings["SEALIFT_STATE"], ignore_errors=True)
        if by_key:
            del settings["SEALIFT_PASSPHRASE_FILE"]
            room.step(tool.command("--key-file", f"{room.folder}/key", "list"), settings)
        else:
            room.step(tool.command("list"), settings)

    return listing
