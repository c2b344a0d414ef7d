#!/usr/bin/python3
"""duplicity: rsync's deltas on the file before, tar, gpg."""

import shutil, time

from tools.base import CopyingTool, found_file


class Duplicity(CopyingTool):
    def run(self, *arguments):
        options = [
            "--archive-dir",
            f"{self.room.state}/archive",
            "--s3-endpoint-url",
            self.room.wire.endpoint,
            "--verbosity",
            "warning",
        ]
        self.room.step(
            ["duplicity", arguments[0], *options, *arguments[1:]], {"PASSPHRASE": "correct horse battery staple"}
        )

    @property
    def url(self):
        return f"boto3+s3://{self.room.path}"

    def push(self):
        self.take_copy()
        self.count += 1
        if self.count > 1:
            time.sleep(1.1)  # two versions of one second would have one name; not counted
        self.run("full" if self.count == 1 else "incr", f"{self.room.folder}/copy", self.url)

    def restore(self, output):
        folder = output + ".duplicity"
        self.run("restore", self.url, folder)
        shutil.move(found_file(folder), output)
        shutil.rmtree(folder)


class DuplicityVacuum(Duplicity):
    name, title, method = "duplicity/vacuum", "duplicity after VACUUM INTO", "vacuum"


class DuplicityBackup(Duplicity):
    name, title, method = "duplicity/backup", "duplicity after .backup", "backup"


TOOLS = [DuplicityVacuum, DuplicityBackup]
