#!/usr/bin/python3
"""restic: content-defined chunks, its default compression."""

import shutil

from tools.base import CopyingTool, found_file


class Restic(CopyingTool):
    def command(self, *arguments):
        return [
            "restic",
            "--quiet",
            "--cache-dir",
            f"{self.room.state}/cache",
            "--repo",
            f"s3:{self.room.wire.endpoint}/{self.room.path}",
            "--password-file",
            f"{self.room.folder}/passphrase",
            *arguments,
        ]

    def prepare(self):
        self.room.output(self.command("init"))

    def push(self):
        self.take_copy()
        self.room.step(self.command("backup", self.room.copy))

    def restore(self, output):
        folder = output + ".restic"
        self.room.step(self.command("restore", "latest", "--target", folder))
        shutil.move(found_file(folder), output)
        shutil.rmtree(folder)


class ResticVacuum(Restic):
    name, title, method = "restic/vacuum", "restic after VACUUM INTO", "vacuum"


class ResticBackup(Restic):
    name, title, method = "restic/backup", "restic after .backup", "backup"


TOOLS = [ResticVacuum, ResticBackup]
