#!/usr/bin/python3
"""Sealift itself, by the passphrase and with its default settings, by both ways of copying."""
import json

from tools.base import Tool


class Sealift(Tool):
    method = "vacuum"
    settle = 2.2

    def target(self):
        room = self.room
        return f"s3://{room.path}?endpoint={room.wire.endpoint}&region={room.bucket.region}&style=path"

    def settings(self, state=None):
        return {"SEALIFT_PASSPHRASE_FILE": f"{self.room.folder}/passphrase", "SEALIFT_STATE": state or self.room.state}

    def command(self, *arguments):
        return [f"{self.room.programs}/sealift", "--target", self.target(), "--no-progress", *arguments]

    def prepare(self):
        self.room.output(self.command("init"), self.settings())

    def push(self):
        self.room.step(self.command("push", self.room.live, "--method", self.method), self.settings())

    def restore(self, output, version="latest"):
        # A machine that has nothing but the key.
        self.room.step(self.command("pull", version, "-o", output), self.settings(f"{self.room.folder}/new-machine"))

    def versions(self):
        """Ids, oldest first."""
        listed = json.loads(self.room.output(self.command("list", "--json"), self.settings()))
        return [version["id"] for version in listed["versions"]]

    def needs(self, version):
        """Bytes that a restore of this version fetches, and that it decodes."""
        shown = json.loads(self.room.output(self.command("show", version, "--json"), self.settings()))
        return shown["bytesFetched"], shown["bytesDecoded"]


class SealiftVacuum(Sealift):
    name, title, method = "sealift/vacuum", "Sealift (vacuum, the default)", "vacuum"


class SealiftPages(Sealift):
    name, title, method = "sealift/pages", "Sealift (pages)", "pages"


TOOLS = [SealiftVacuum, SealiftPages]
