#!/usr/bin/python3
"""Sealift itself with its default settings, by both ways of copying, opened by a passphrase."""

import json, os, shutil

from tools.base import Tool


class Sealift(Tool):
    method = "vacuum"
    settle = 2.2

    def target(self):
        room = self.room
        return f"s3://{room.path}?endpoint={room.wire.endpoint}&region={room.bucket.region}&style=path"

    def settings(self, state=None):
        return self.secret() | {"SEALIFT_STATE": state or self.room.state}

    def secret(self):
        return {"SEALIFT_PASSPHRASE_FILE": f"{self.room.folder}/passphrase"}

    def command(self, *arguments):
        return [f"{self.room.programs}/sealift", "--target", self.target(), "--no-progress", *arguments]

    def prepare(self):
        self.room.output(self.command("init"), self.settings())

    def push(self):
        self.room.step(self.command("push", self.room.live, "--method", self.method), self.settings())

    def restore(self, output, version="latest"):
        # On a machine that has nothing but the key.
        shutil.rmtree(f"{self.room.folder}/new-machine", ignore_errors=True)
        self.room.step(self.command("pull", version, "-o", output), self.settings(f"{self.room.folder}/new-machine"))

    def versions(self):
        """Ids, oldest first."""
        listed = json.loads(self.room.output(self.command("list", "--json"), self.settings()))
        return [version["id"] for version in listed["versions"]]

    def needs(self, version):
        """Bytes that a restore of this version fetches, and that it decodes."""
        shown = json.loads(self.room.output(self.command("show", version, "--json"), self.settings()))
        return shown["bytesFetched"], shown["bytesDecoded"]


class ByKeyFile:
    """Opened by a key file: without the half second and the 128 MiB that a passphrase is meant to take."""

    def secret(self):
        return {}

    def command(self, *arguments):
        key = f"{self.room.folder}/key"
        if not os.path.exists(key):
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(os.urandom(64))
        return super().command("--key-file", key, *arguments)


class SealiftVacuum(Sealift):
    name, title, method = "sealift/vacuum", "Sealift (vacuum, the default)", "vacuum"


class SealiftPages(Sealift):
    name, title, method = "sealift/pages", "Sealift (pages)", "pages"


class KeyFileVacuum(ByKeyFile, SealiftVacuum):
    name, title = "sealift/vacuum+key", "Sealift (vacuum, by key file)"


class KeyFilePages(ByKeyFile, SealiftPages):
    name, title = "sealift/pages+key", "Sealift (pages, by key file)"


BY_KEY_FILE = [KeyFileVacuum, KeyFilePages]
TOOLS = [SealiftVacuum, SealiftPages]
