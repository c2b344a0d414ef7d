#!/usr/bin/env python3
"""A folder as a file system keeps it: what was done to it in order, and what a disk may have of that when the power goes.

Hostile, and no more than POSIX allows. Kept for certain is only what an fsync that came to its end was begun after:
* of a file its bytes and its length, by an fsync of the file; what was written since is kept or lost sector by sector (512
  bytes, or 4,096), each with what it held at any moment since. A length may be kept without the bytes (zeros, or what lay on
  the disk before), bytes not without the length; what follows a lost truncation is lost.
* of a folder its names, by an fsync of the folder; an fsync of a file keeps no name of it. Names that changed since are kept
  or lost in the order of the changes in that folder, folder by folder. A name that is replaced is the old one or the new
  one; a file that moves between two folders may have both names, never none.
"""
import os, stat

SECTOR = 512


class File:
    """Bytes, and what was done to them: ("write", offset, bytes), ("length", n), ("mode", bits), each with when it was done."""

    def __init__(self, content=b"", mode=0o600, modified=None):
        self.content, self.mode, self.modified, self.changes, self.kept = content, mode, modified, [], []


class Folder:
    """Names, and how they changed: ({name: file or folder or None}, when, partner), in order.

    The partner of a change is the (folder, number of its change) that must be kept for this one to be.
    """

    def __init__(self, mode=0o700):
        self.names, self.mode, self.changes, self.kept = {}, mode, [], []

    def now(self, count=None):
        names = dict(self.names)
        for change, _, _ in self.changes[:count]:
            for name, what in change.items():
                names.pop(name, None)
                if what is not None:
                    names[name] = what
        return names


class Disk:
    """What is below a folder at first, all of it durable; then what a recording tells."""

    def __init__(self, root):
        self.seen, self.synced = {}, []
        self.top = self.read(root)

    def read(self, path):
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            folder = Folder(stat.S_IMODE(status.st_mode))
            folder.names = {name: self.read(f"{path}/{name}") for name in os.listdir(path)}
            return folder
        if status.st_ino not in self.seen:
            with open(path, "rb") as file:
                self.seen[status.st_ino] = File(file.read(), stat.S_IMODE(status.st_mode), (status.st_atime_ns, status.st_mtime_ns))
        return self.seen[status.st_ino]

    def lost(self, moment, schedule):
        """What is there when the power went at a moment: a `Tree`, as the schedule decides about what nothing made durable."""
        return Tree(self, moment, schedule)


class Tree:
    def __init__(self, disk, moment, schedule):
        self.moment, self.schedule, self.counts, self.doubtful, self.top = moment, schedule, {}, 0, disk.top
        self.all_synced = max((begun for begun, done in disk.synced if done <= moment), default=0)
        self.count(disk.top)

    def durable(self, thing):
        """Everything before this moment is kept."""
        return max((begun for begun, done in thing.kept if done <= self.moment), default=0)

    def split(self, thing):
        """How many changes were made at all, and how many of these are certain."""
        made = sum(1 for change in thing.changes if change[1] <= self.moment)
        certain = max(self.durable(thing), self.all_synced)
        return made, sum(1 for change in thing.changes[:made] if change[1] <= certain)

    def count(self, folder):
        """Decides how many changes of each folder that can be reached are kept."""
        todo, met = [folder], set()
        while todo:
            folder = todo.pop()
            if id(folder) in met:
                continue
            met.add(id(folder))
            made, certain = self.split(folder)
            self.doubtful += made - certain
            self.demand(folder, self.schedule.names(certain, made))
            # All that ever had a name here: a partner elsewhere may keep more of it than was decided now.
            for change in [folder.names] + [change for change, _, _ in folder.changes[:made]]:
                todo += [what for what in change.values() if isinstance(what, Folder)]

    def demand(self, folder, count):
        """Keeps so many changes of a folder, and what those rest on elsewhere."""
        if count <= self.counts.get(id(folder), -1):
            return
        self.counts[id(folder)] = count
        for _, _, partner in folder.changes[:count]:
            if partner:
                self.demand(partner[0], partner[1] + 1)

    def build(self, path):
        """Makes it, in a folder that is not there."""
        self.make(self.top, path, {})

    def make(self, folder, path, places):
        os.mkdir(path, 0o700)
        for name, what in folder.now(self.counts[id(folder)]).items():
            place = f"{path}/{name}"
            if isinstance(what, Folder):
                self.make(what, place, places)
            elif id(what) in places:
                os.link(places[id(what)], place)
            else:
                places[id(what)] = place
                content, mode, is_old = self.content(what)
                with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content)
                os.chmod(place, mode)
                if is_old and what.modified:
                    os.utime(place, ns=what.modified)
        os.chmod(path, folder.mode)

    def content(self, file):
        """Bytes and mode of a file, and whether nothing was ever done to it."""
        made, certain = self.split(file)
        new, mode, length = bytearray(file.content), file.mode, None
        old = bytearray(file.content)
        metadata = self.schedule.length(certain, made)
        self.doubtful += made - certain
        for number, (change, _) in enumerate(file.changes[:made]):
            kind, is_certain = change[0], number < certain
            is_told = is_certain or number < metadata
            if kind == "mode":
                mode = change[1] if is_told else mode
            elif kind == "length":
                shrinks = change[1] < len(new)
                resize(new, change[1])
                if not is_told and shrinks:
                    break
                if is_told:
                    length = change[1]
                    resize(old, length)
            else:
                _, offset, written = change
                before = len(new)
                if offset + len(written) > before:
                    resize(new, offset + len(written))
                new[offset : offset + len(written)] = written
                if is_told and len(new) > before:
                    length = len(new)
                if is_certain:
                    resize(old, max(len(old), offset + len(written)))
                    old[offset : offset + len(written)] = written
                else:
                    self.keep_sectors(old, new, offset, offset + len(written))
        length = len(file.content) if length is None else length
        if len(old) < length:
            old += self.schedule.garbage(length - len(old))
        return bytes(old[:length]), mode, not made

    def keep_sectors(self, old, new, start, end):
        """Brings some sectors of what was written to the disk: as they are at this moment."""
        first, last = start // SECTOR, (end - 1) // SECTOR
        for begin, stop in self.schedule.sectors(first, last + 1):
            low, high = begin * SECTOR, min(stop * SECTOR, len(new))
            if low > len(old):
                old += self.schedule.garbage(low - len(old))
            old[low:high] = new[low:high]


def resize(content, length):
    if length < len(content):
        del content[length:]
    else:
        content.extend(bytes(length - len(content)))


class Schedule:
    """Decides about everything that is not certain, by one of a few habits that disks have, or by lot."""

    HABITS = ["nothing", "names", "bytes", "sectors", "pages", "writes", "lengths", "mixture"]

    def __init__(self, rng, habit=None):
        self.rng, self.habit = rng, habit or rng.choice(self.HABITS)

    def names(self, certain, made):
        """How many changes of a folder are kept."""
        if self.habit in ("nothing", "bytes"):
            return certain
        if self.habit in ("names", "lengths"):
            return made
        return self.rng.choice([certain, made, self.rng.randint(certain, made)])

    def length(self, certain, made):
        """Up to which change of a file its length is kept."""
        if self.habit in ("nothing", "names"):
            return certain
        if self.habit in ("bytes", "lengths"):
            return made
        return self.rng.choice([certain, made, self.rng.randint(certain, made)])

    def sectors(self, first, end):
        """Which sectors of a write, as ranges, reach the disk."""
        if self.habit in ("nothing", "names", "lengths"):
            return []
        if self.habit == "bytes":
            return [(first, end)]
        habit = self.rng.choice(["sectors", "pages", "writes"]) if self.habit == "mixture" else self.habit
        if habit == "writes":
            return [(first, end)] if self.rng.random() < 0.5 else []
        if self.rng.random() < 0.3:
            # Torn once: the beginning or the end.
            cut = self.rng.randint(first, end)
            return [(first, cut)] if self.rng.random() < 0.7 else [(cut, end)]
        step = 1 if habit == "sectors" else 8
        starts = range(first // step * step, end, step)
        return [(max(first, s), min(end, s + step)) for s in starts if self.rng.random() < 0.5]

    def garbage(self, count):
        """What stands where nothing was written: zeros, or what lay on the disk before."""
        return self.rng.randbytes(count) if self.habit in ("sectors", "mixture") and self.rng.random() < 0.3 else bytes(count)


class Everything(Schedule):
    """A disk that has all of it: nothing was lost."""

    def __init__(self):
        pass

    def names(self, certain, made):
        return made

    length = names

    def sectors(self, first, end):
        return [(first, end)]

    def garbage(self, count):
        return bytes(count)
