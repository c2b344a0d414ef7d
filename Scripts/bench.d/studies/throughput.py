#!/usr/bin/python3
"""Sealing and restoring against zstd alone: the same bytes, the same level, all cores, taking turns in each run.

`seal` is a whole first push of a page copy into a folder (copy, fingerprints, compression, encryption and verification
included, opened by a key file), `zstd` is `zstd -1 -T0` of such a copy into a file beside it;
`unseal` and `unzstd` are the ways back.
"""

import os

from story import Story
from tools.sealift import KeyFilePages


def run(bench):
    for size in bench.options.size:
        for turn in bench.runs:
            ours = (("oltp", size, KeyFilePages.name, what, turn) for what in ("seal", "unseal"))
            theirs = (("oltp", size, Zstd.name, what, turn) for what in ("zstd", "unzstd"))
            if not all(bench.results.has(*key) for key in (*ours, *theirs)):
                measure_run(bench, size, turn)


class Zstd(KeyFilePages):
    """The same room, another name."""

    name = "zstd"


def measure_run(bench, size, turn):
    base = bench.stock.base("oltp", size)
    with Story(bench, KeyFilePages, "oltp", size, turn) as story:
        room, tool = story.room, story.tool
        room.place(base)
        folder = f"file://{room.folder}/folder"
        os.mkdir(f"{room.folder}/folder")
        tool.target = lambda: folder
        settings = tool.settings(f"{room.folder}/state-of-folder")
        room.output(tool.command("init"), settings)
        story.cell("seal", lambda: room.step(tool.command("push", room.live, "--method", "pages"), settings))

        def unseal(output):
            room.step(tool.command("pull", "latest", "-o", output), settings)

        story.cell("unseal", story.restored(base, unseal))
    with Story(bench, Zstd, "oltp", size, turn) as story:
        room, plain, packed = story.room, f"{story.room.folder}/out/plain.db", f"{story.room.folder}/out/packed"
        room.place(base)

        def copy():
            room.take_copy("backup")
            # A cell leaves no copy behind.
            os.rename(room.copy, plain)

        story.cell("copy", copy)
        story.cell("zstd", lambda: room.step(["zstd", "-q", "-1", f"-T{os.cpu_count()}", plain, "-o", packed]))
        story.cell("unzstd", lambda: room.step(["zstd", "-q", "-d", packed, "-o", f"{room.folder}/out/unpacked.db"]))
