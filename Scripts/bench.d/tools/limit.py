#!/usr/bin/python3
"""What is computed for comparison and never sent: no encryption, no proof, no protocol. Bytes are those of a file."""

import os, shutil

from tools.base import CopyingTool


class Limit(CopyingTool):
    unchanged = False
    restore = None

    @property
    def result(self):
        return f"{self.room.state}/result"

    @property
    def previous(self):
        return f"{self.room.state}/previous.db"

    def push(self):
        self.take_copy()
        self.compress()
        shutil.move(self.room.copy, self.previous)
        self.room.computed = os.path.getsize(self.result)

    def compress(self):
        raise NotImplementedError


class Zstd(Limit):
    level = 3

    def compress(self):
        self.room.step(["zstd", "-q", "-f", f"-{self.level}", self.room.copy, "-o", self.result])

    def restore(self, output):
        self.room.step(["zstd", "-q", "-d", self.result, "-o", output])


class Zstd1(Zstd):
    name, title, level = "limit/zstd1", "zstd -1 of a vacuumed copy", 1


class Zstd3(Zstd):
    name, title, level = "limit/zstd3", "zstd -3 of a vacuumed copy", 3


class Patch(Limit):
    name, title = "limit/patch", "zstd -3 --long=31 --patch-from of two vacuumed copies"

    def compress(self):
        before = [f"--patch-from={self.previous}", "--long=31"] if os.path.exists(self.previous) else []
        self.room.step(["zstd", "-q", "-f", "-3", *before, self.room.copy, "-o", self.result])


class PageLevel(Limit):
    """Pages by content, as chunk stores would do at best: never one twice, 64 new ones compressed together."""

    program = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/pagelevel.py"

    def compress(self):
        self.room.step([self.program, f"{self.room.state}/known", self.room.copy, self.result])


class PageLevelVacuum(PageLevel):
    name, title, method = "limit/pagelevel", "new pages of vacuumed copies, zstd -3", "vacuum"


class PageLevelBackup(PageLevel):
    name, title, method = "limit/pagelevel-backup", "new pages of .backup copies, zstd -3", "backup"


class Sqlite(Limit):
    """What a safe copy takes before anything is done with it: SQLite alone makes it and finds it sound."""

    def push(self):
        self.take_copy()
        self.room.step(["sqlite3", f"file:{self.room.copy}?immutable=1", "PRAGMA cell_size_check=1; PRAGMA quick_check"])
        self.room.computed = 0


class SqliteVacuum(Sqlite):
    name, title, method = "limit/sqlite", "VACUUM INTO and quick_check, nothing else", "vacuum"


class SqliteBackup(Sqlite):
    name, title, method = "limit/sqlite-backup", ".backup and quick_check, nothing else", "backup"


TOOLS = [Zstd1, Zstd3, Patch, PageLevelVacuum, PageLevelBackup, SqliteVacuum, SqliteBackup]
