#!/usr/bin/python3
"""borg speaks no S3: a local repository, then `rclone sync` of it; both count. A restore fetches all of it first."""

import os, shutil

from tools.base import CopyingTool, found_file
from tools.rclone import write_settings


class Borg(CopyingTool):
    def environment(self):
        return {
            "BORG_PASSPHRASE": "correct horse battery staple",
            "BORG_BASE_DIR": f"{self.room.state}/base",
            "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes",
            "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        }

    def prepare(self):
        self.settings = write_settings(self.room, crypt=False)
        self.repository = f"{self.room.state}/repository"
        self.room.output(["borg", "init", "--encryption", "repokey-blake2", self.repository], self.environment())

    def sync(self, source, sink):
        self.room.step([f"{self.room.programs}/rclone", "--config", self.settings, "sync", source, sink])

    def push(self):
        self.take_copy()
        self.count += 1
        self.room.step(
            ["borg", "create", "--compression", "zstd,3", f"{self.repository}::{self.count}", self.room.copy],
            self.environment(),
        )
        self.sync(self.repository, f"s:{self.room.path}")

    def restore(self, output):
        fetched, folder = f"{self.room.folder}/tmp/repository", output + ".borg"
        os.makedirs(folder)
        self.sync(f"s:{self.room.path}", fetched)
        self.room.step(
            ["sh", "-c", f"cd '{folder}' && exec borg extract '{fetched}::{self.count}'"], self.environment()
        )
        shutil.move(found_file(folder), output)
        shutil.rmtree(folder)
        shutil.rmtree(fetched)

    def rollback(self, saved):
        # The synchronisation overwrites borg's small index files; another one brings the first repository back.
        _, kept, self.count = saved
        shutil.rmtree(self.room.state)
        shutil.copytree(kept, self.room.state, symlinks=True)
        self.sync(self.repository, f"s:{self.room.path}")
        self.room.wire.collect_garbage()
        return True


class BorgVacuum(Borg):
    name, title, method = "borg/vacuum", "borg + rclone sync after VACUUM INTO", "vacuum"


class BorgBackup(Borg):
    name, title, method = "borg/backup", "borg + rclone sync after .backup", "backup"


TOOLS = [BorgVacuum, BorgBackup]
