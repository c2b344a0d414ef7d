#!/usr/bin/python3
"""The script that people have now: VACUUM INTO, zstd, openssl, aws."""

import os

from tools.base import CopyingTool


class Shell(CopyingTool):
    name, title, method = "shell", "VACUUM INTO, zstd -3, openssl, aws s3 cp", "vacuum"

    def pipe(self, commands):
        self.room.step(["bash", "-c", f"set -o pipefail; {commands}"])

    @property
    def aws(self):
        return f"'{self.room.programs}/aws' --endpoint-url {self.room.wire.endpoint} s3 cp --no-progress"

    @property
    def cipher(self):
        return f"openssl enc -aes-256-ctr -pbkdf2 -pass 'file:{self.room.folder}/passphrase'"

    def push(self):
        self.take_copy()
        self.count += 1
        size = os.path.getsize(self.room.copy)
        self.pipe(
            f"zstd -q -3 -c '{self.room.copy}' | {self.cipher} | {self.aws} --expected-size {size} - "
            f"s3://{self.room.path}/app-{self.count}"
        )

    def restore(self, output):
        """By way of a file: into a pipe, aws hangs with objects of some hundred megabytes, its threads waiting for one another."""
        sealed = f"{output}.sealed"
        self.pipe(
            f"{self.aws} s3://{self.room.path}/app-{self.count} '{sealed}' && {self.cipher} -d -in '{sealed}' | "
            f"zstd -q -d -o '{output}' && rm '{sealed}'"
        )


TOOLS = [Shell]
