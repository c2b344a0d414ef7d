#!/usr/bin/python3
"""The databases on disk: made once for each kind and size, changed once for each change."""

import os, shutil

import databases
from figures import in_bytes
from kinds import KINDS


class Stock:
    def __init__(self, folder):
        self.folder, self.digests, self.proven = folder, {}, set()
        os.makedirs(folder, exist_ok=True)

    def base(self, kind, size):
        path = f"{self.folder}/{kind}-{size}.db"
        if not os.path.exists(path):
            print(f"bench: making the {kind} database of {size}", flush=True)
            if in_bytes(size) > 1 << 30 and KINDS[kind].again:
                shutil.copyfile(self.base(kind, "1G"), path + ".making")
                databases.enlarge(kind, in_bytes(size) >> 30, path + ".making")
                os.rename(path + ".making", path)
            else:
                databases.make(kind, in_bytes(size), path)
        return path

    def changed(self, kind, size, change):
        """The base after one change, closed."""
        path = f"{self.folder}/{kind}-{size}-{change}.db"
        if not os.path.exists(path):
            shutil.copyfile(self.base(kind, size), path + ".making")
            databases.change(kind, change, 0, path + ".making")
            os.rename(path + ".making", path)
        return path

    def digest(self, path):
        if path not in self.digests:
            self.digests[path] = databases.digest(path)
        return self.digests[path]

    def drop(self, kind, size):
        """Makes room on the disk: they can be made again."""
        for name in os.listdir(self.folder):
            if name.startswith(f"{kind}-{size}"):
                os.unlink(f"{self.folder}/{name}")
