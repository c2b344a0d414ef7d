#!/usr/bin/env python3
"""Runs a command under strace and tells a `Disk` all that it does to files below the desk's folder, bytes and all.

strace sees every call, also those of SQLite and of the C library's own: nothing can be written past it but through memory
that is mapped. Who maps a file that has a name for writing is refused (SQLite's -shm apart: nothing in it outlives a crash).
"""
import os, re

from common.desk import Wrong
from common.disk import Disk, Everything, File, Folder

CALLS = ("open openat openat2 creat close dup dup2 dup3 fcntl lseek write pwrite64 writev pwritev pwritev2 ftruncate truncate fallocate "
         "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat rmdir chmod fchmod fchmodat fchmodat2 "
         "fsync fdatasync syncfs sync sync_file_range copy_file_range sendfile splice ioctl mmap execve").split()
SYNCS = "fsync,fdatasync,syncfs,sync"
LINE = re.compile(r"(\d+) +(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((.*))$", re.S)
RESULT = re.compile(r"\)\s+= (-?\d+|0x[0-9a-f]+)(<[^>]*>)?([^<>]*)$", re.S)
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
FD = re.compile(r"(-?\d+|AT_FDCWD)(?:<[^>]*>)?")
UMASK = os.umask(0o077)
os.umask(UMASK)


def decode(text):
    return bytes.fromhex(text.replace("\\x", ""))


class OpenFile:
    def __init__(self, what, appends=False):
        self.what, self.appends, self.offset = what, appends, 0


class Recording:
    """What runs of a program did to a desk; `told` is when each of them first knew and said that it had succeeded."""

    def __init__(self, desk, fsync=True):
        self.desk, self.fsync = desk, fsync
        self.disk, self.clock, self.moments, self.told, self.results = Disk(desk.folder), 0, [], [], []

    # MARK: What happens

    def run(self, *arguments, says_so=True):
        log = f"{self.desk.folder}.strace"
        without = [] if self.fsync else ["-e", f"inject={SYNCS}:retval=0"]
        result = self.desk.run(*arguments, prefix=[
            "strace", "-f", "-qqq", "-y", "-xx", "-s", str(1 << 26), "--seccomp-bpf", "-o", log, "-e", "trace=" + ",".join(f"?{call}" for call in CALLS),
            "-e", "signal=none", *without], timeout=300)
        self.opened, self.last_word, began = {}, None, {}
        with open(log, errors="replace") as file:
            for line in file:
                self.clock += 1
                self.line(line.rstrip("\n"), began)
        os.unlink(log)
        if result.returncode != 0:
            raise Wrong(f"{' '.join(arguments)}, recorded, ended with {result.returncode}: {result.stderr.strip()}")
        self.told.append(self.last_word if says_so and self.last_word else self.clock)
        self.results.append(result)
        self.demand_whole()
        return result

    def absorb(self, *paths):
        """Others changed these files, durably."""
        self.clock += 1
        for path in paths:
            folder, name = self.reach(path)
            if os.path.exists(path):
                found = Disk.read(self.disk, path)
                if folder.now().get(name) is not found:
                    self.change(folder, {name: found})
                else:
                    with open(path, "rb") as file:
                        content = file.read()
                    self.data(found, ("length", 0))
                    self.data(found, ("write", 0, content))
                found.kept.append((self.clock, self.clock))
            elif name in folder.now():
                self.change(folder, {name: None})
            folder.kept.append((self.clock, self.clock))

    def demand_whole(self):
        """What was recorded is what happened: with nothing lost, it is the folder as it stands."""
        tree = self.disk.lost(self.clock, Everything())
        self.compare(tree, self.disk.top, self.desk.folder)

    def compare(self, tree, folder, path):
        names = folder.now()
        if set(names) != set(os.listdir(path)):
            raise Wrong(f"the recording has other names than {path}: {set(names) ^ set(os.listdir(path))}")
        for name, what in names.items():
            if isinstance(what, Folder):
                self.compare(tree, what, f"{path}/{name}")
            elif not name.endswith("-shm"):
                with open(f"{path}/{name}", "rb") as file:
                    if tree.content(what)[0] != file.read():
                        raise Wrong(f"the recording has another content than {path}/{name}")

    # MARK: One line

    def line(self, line, began):
        match = LINE.match(line)
        if not match:
            return
        thread, resumed, rest, name, arguments = match.groups()
        if resumed:
            start, name, head = began.pop(thread)
            text = head + rest
        elif arguments.endswith("<unfinished ...>"):
            began[thread] = self.clock, name, arguments[: -len("<unfinished ...>")]
            return
        else:
            start, text = self.clock, arguments
        result = RESULT.search(text)
        if not result or result[1].startswith("-1") or "(INJECTED)" in result[3]:
            return
        value = int(result[1], 0)
        self.call(name, text[: result.start()], value, start)

    def call(self, name, text, value, start):
        if re.search(r'"\.\.\.', text):
            raise Wrong(f"the recording of {name} is cut")
        handler = getattr(self, f"on_{name}", None)
        if handler:
            handler(text, value, start)

    def path(self, text, number=0):
        """The path that is the number-th string of a call, with the descriptor before it where there is one."""
        strings = list(TEXT.finditer(text))
        found = os.fsdecode(decode(strings[number][1]))
        if not found.startswith("/"):
            before = re.findall(r"(?:AT_FDCWD|\d+)<([^>]*)>", text[: strings[number].start()])
            base = os.fsdecode(decode(before[-1])) if before else os.getcwd()
            found = f"{base}/{found}"
        return os.path.normpath(found)

    def reach(self, path):
        """The folder of a path, and its last component; (None, None) for what is elsewhere."""
        if path == self.desk.folder or not path.startswith(self.desk.folder + "/"):
            return None, None
        *steps, name = path[len(self.desk.folder) + 1 :].split("/")
        folder = self.disk.top
        for step in steps:
            folder = folder.now().get(step)
            if not isinstance(folder, Folder):
                raise Wrong(f"the recording does not know the folder of {path}")
        return folder, name

    def find(self, path):
        if path == self.desk.folder:
            return self.disk.top
        folder, name = self.reach(path)
        return folder.now().get(name) if folder else None

    def descriptor(self, text):
        match = FD.match(text)
        return self.opened.get(int(match[1])) if match and match[1] != "AT_FDCWD" else None

    # MARK: Changes

    def change(self, folder, names, partner=None):
        folder.changes.append((names, self.clock, partner))
        self.moments.append(self.clock)

    def data(self, file, change):
        file.changes.append((change, self.clock))
        self.moments.append(self.clock)

    def write(self, file, offset, content):
        if isinstance(file.what, File) and content:
            self.data(file.what, ("write", offset, content))

    # MARK: Calls

    def on_execve(self, text, value, start):
        if self.opened:
            raise Wrong("the program starts another: that is not recorded")

    def on_openat(self, text, value, start):
        path, flags = self.path(text), text[list(TEXT.finditer(text))[0].end() :]
        self.opened.pop(value, None)
        if path != self.desk.folder and not path.startswith(self.desk.folder + "/"):
            return
        mode = re.search(r", (0[0-7]+)$", flags)
        mode = int(mode[1], 8) if mode else 0o600
        if "O_TMPFILE" in flags:
            self.opened[value] = OpenFile(File(mode=mode))
            return
        what = self.find(path)
        if what is None:
            folder, name = self.reach(path)
            what = File(mode=mode & ~UMASK)
            self.change(folder, {name: what})
        elif "O_TRUNC" in flags:
            self.data(what, ("length", 0))
        self.opened[value] = OpenFile(what, "O_APPEND" in flags)

    on_open = on_openat2 = on_openat

    def on_creat(self, text, value, start):
        self.on_openat(text + ", O_TRUNC", value, start)

    def on_close(self, text, value, start):
        self.opened.pop(int(FD.match(text)[1]), None)

    def on_dup(self, text, value, start):
        self.opened.pop(value, None)
        if file := self.descriptor(text):
            self.opened[value] = file

    on_dup2 = on_dup3 = on_dup

    def on_fcntl(self, text, value, start):
        if "F_DUPFD" in text:
            self.on_dup(text, value, start)

    def on_lseek(self, text, value, start):
        if file := self.descriptor(text):
            file.offset = value

    def on_write(self, text, value, start):
        if re.match(r"1[<,]", text) and value:
            self.last_word = self.clock
        if file := self.descriptor(text):
            content = b"".join(decode(match[1]) for match in TEXT.finditer(text))[:value]
            if file.appends and isinstance(file.what, File):
                file.offset = self.length(file.what)
            self.write(file, file.offset, content)
            file.offset += value

    on_writev = on_write

    def on_pwrite64(self, text, value, start):
        if file := self.descriptor(text):
            content = b"".join(decode(match[1]) for match in TEXT.finditer(text))[:value]
            self.write(file, int(re.findall(r", (\d+)", text)[-1], 0), content)

    on_pwritev = on_pwritev2 = on_pwrite64

    @staticmethod
    def length(file):
        length = len(file.content)
        for change, _ in file.changes:
            length = change[1] if change[0] == "length" else max(length, change[1] + len(change[2])) if change[0] == "write" else length
        return length

    def on_ftruncate(self, text, value, start):
        if file := self.descriptor(text):
            self.data(file.what, ("length", int(text.rsplit(", ", 1)[1])))

    def on_truncate(self, text, value, start):
        if file := self.find(self.path(text)):
            self.data(file, ("length", int(text.rsplit(", ", 1)[1])))

    def on_fallocate(self, text, value, start):
        if file := self.descriptor(text):
            mode, offset, count = text.split(", ")[-3:]
            if mode != "0":
                raise Wrong(f"fallocate with {mode} is not recorded")
            self.data(file.what, ("length", max(self.length(file.what), int(offset) + int(count))))

    def on_rename(self, text, value, start):
        if "RENAME_EXCHANGE" in text:
            raise Wrong("exchanged names are not recorded")
        (old, name), (new, other) = self.reach(self.path(text)), self.reach(self.path(text, 1))
        if not old and not new:
            return
        if not old or not new:
            raise Wrong("something is moved in or out of the desk's folder")
        what = old.now()[name]
        if what is new.now().get(other):
            return
        if old is new:
            return self.change(old, {name: None, other: what})
        self.change(new, {other: what})
        self.change(old, {name: None}, partner=(new, len(new.changes) - 1))

    on_renameat = on_renameat2 = on_rename

    def on_link(self, text, value, start):
        folder, name = self.reach(self.path(text, 1))
        if folder:
            self.change(folder, {name: self.find(self.path(text))})

    on_linkat = on_link

    def on_symlink(self, text, value, start):
        raise Wrong("links are not recorded")

    on_symlinkat = on_symlink

    def on_unlink(self, text, value, start):
        folder, name = self.reach(self.path(text))
        if folder:
            self.change(folder, {name: None})

    on_unlinkat = on_rmdir = on_unlink

    def on_mkdir(self, text, value, start):
        folder, name = self.reach(self.path(text))
        if folder:
            self.change(folder, {name: Folder(int(text.rsplit(", ", 1)[1], 8) & ~UMASK)})

    on_mkdirat = on_mkdir

    def on_fchmod(self, text, value, start):
        file = self.descriptor(text)
        self.set_mode(file.what if file else None, text.rsplit(", ", 1)[1])

    def on_chmod(self, text, value, start):
        self.set_mode(self.find(self.path(text)), text[list(TEXT.finditer(text))[0].end() + 2 :].split(", ")[0])

    on_fchmodat = on_fchmodat2 = on_chmod

    def set_mode(self, what, mode):
        # A folder that is closed to us could not even be built: its mode is the last one that it had.
        if isinstance(what, Folder):
            what.mode = int(mode, 8)
        elif what:
            self.data(what, ("mode", int(mode, 8)))

    def on_fsync(self, text, value, start):
        if file := self.descriptor(text):
            file.what.kept.append((start, self.clock))
            self.moments.append(self.clock)

    on_fdatasync = on_fsync

    def on_sync(self, text, value, start):
        self.disk.synced.append((start, self.clock))
        self.moments.append(self.clock)

    def on_syncfs(self, text, value, start):
        self.on_sync(text, value, start)

    def on_copy_file_range(self, text, value, start):
        if self.descriptor(text.split(", ")[2]):
            raise Wrong("copies made by the kernel are not recorded")

    def on_sendfile(self, text, value, start):
        if self.descriptor(text):
            raise Wrong("copies made by the kernel are not recorded")

    def on_ioctl(self, text, value, start):
        if "FICLONE" in text:
            raise Wrong("copies made by the kernel are not recorded")

    def on_mmap(self, text, value, start):
        if "MAP_SHARED" not in text or "PROT_WRITE" not in text:
            return
        file = self.descriptor(text.split(", ")[4])
        if file and (name := self.named(file.what)) and not name.endswith("-shm"):
            raise Wrong(f"{name} is mapped for writing: that is not recorded")

    def named(self, wanted):
        todo = [self.disk.top]
        while todo:
            for name, what in todo.pop().now().items():
                if what is wanted:
                    return name
                if isinstance(what, Folder):
                    todo.append(what)
        return None
