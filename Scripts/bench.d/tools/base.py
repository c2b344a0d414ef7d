#!/usr/bin/python3
"""What a tool must be able to do to be measured."""

import os, shutil

import databases


class Tool:
    name = ""
    """As in `--tools`: a family, or family/variant."""
    title = ""
    settle = 0.0
    """Seconds that the database must lie still before a push, for tools that do not trust fresh times."""
    unchanged = True
    """Whether a push of an unchanged database says anything about it."""
    hides = False
    """Whether it keeps files where they cannot be told from the application's own."""

    def __init__(self, room):
        self.room, self.count = room, 0

    def prepare(self):
        """Makes the repository. Not measured."""

    def push(self):
        """Takes the live database to the server, by measured steps."""
        raise NotImplementedError

    def restore(self, output):
        """The newest version as the file `output`, by measured steps."""
        raise NotImplementedError

    def change(self, prepared, kind, name, turn):
        """Brings the change about, before the measured push: most tools meet a database that was changed before."""
        self.room.place(prepared)

    def change_further(self, kind, name, turn):
        """One change more, to the live database as the changes before it have left it."""
        change_in_place(self.room, kind, name, turn)

    def save(self):
        """All that a rollback needs: what is at the server and what is on disk."""
        kept = self.room.folder + ".kept"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.room.state, kept, symlinks=True)
        return self.room.objects(), kept, self.count

    def rollback(self, saved):
        """Back to the state after the first push, as if the change had never been; False when it cannot be done so."""
        objects, kept, self.count = saved
        now = self.room.objects()
        if any(now.get(name) != value for name, value in objects.items()):
            return False
        self.room.delete({name: now[name] for name in now if name not in objects})
        shutil.rmtree(self.room.state)
        shutil.copytree(kept, self.room.state, symlinks=True)
        return True

    def forget_saved(self):
        shutil.rmtree(self.room.folder + ".kept", ignore_errors=True)

    def end(self):
        """Stops whatever still runs."""


class CopyingTool(Tool):
    """A tool that must be given a file: by VACUUM INTO or by .backup, whose time counts as its own."""

    method = "vacuum"

    def take_copy(self):
        self.room.take_copy(self.method)


def found_file(folder):
    """The one file below a folder that was restored into."""
    for parent, _, names in os.walk(folder):
        for name in names:
            return f"{parent}/{name}"
    raise FileNotFoundError(folder)


def change_in_place(room, kind, name, turn):
    databases.change(kind, name, turn, room.live)
