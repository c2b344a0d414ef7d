#!/usr/bin/python3
"""Runs one command and measures it with everything it starts.

`Usage` is what it took: wall and CPU seconds (of all processes, waited for or orphaned), peak memory and disk; and for
how many seconds the machine's cores were busy meanwhile, with whatever. Memory is the anonymous memory of the whole
tree, sampled every few milliseconds (VmHWM would count the pages of mapped files and databases too, which are the
system's to take back), with the greatest resident size of one process beside it: its VmHWM when it was last seen. What
the kernel tells whoever waits for a process (ru_maxrss) is of no use: that begins with what its parent had, here all
the memory that is held while something is measured.
"""

import contextlib, ctypes, dataclasses, os, signal, subprocess, threading, time

INTERVAL = 0.004
PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Usage:
    wall: float = 0.0
    cpu: float = 0.0
    anonymous: int = 0
    resident: int = 0
    disk: int = 0
    busy: float = 0.0

    def __add__(self, other):
        """Of two steps, one after the other."""
        return Usage(
            self.wall + other.wall,
            self.cpu + other.cpu,
            max(self.anonymous, other.anonymous),
            max(self.resident, other.resident),
            max(self.disk, other.disk),
            self.busy + other.busy,
        )


class Failed(Exception):
    """A command ended with another status than 0, or gave a wrong result."""


def adopt_orphans():
    """Lets orphaned grandchildren become children of this process, so that their CPU time is not lost."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def tree(root):
    """A process and all below it, as far as they live."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    todo += map(int, file.read().split())
        except OSError:
            pass
    return found


def memory(root):
    """In bytes: RssAnon and RssShmem of the whole tree, and the greatest VmHWM of one process of it."""
    anonymous = resident = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/status") as file:
                for line in file:
                    if line.startswith(("RssAnon:", "RssShmem:")):
                        anonymous += int(line.split()[1]) << 10
                    elif line.startswith("VmHWM:"):
                        resident = max(resident, int(line.split()[1]) << 10)
        except OSError:
            pass
    return anonymous, resident


def forget_resident_peak(pid):
    """Lets the peak of a living process begin anew (proc(5), clear_refs)."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass  # it has ended, and whoever waits for it will say so


def cpu_time(root):
    """Seconds of user and system time that a living tree has taken, ended and awaited children included."""
    ticks = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(map(int, file.read().rsplit(") ", 1)[1].split()[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def ticks():
    """The machine's time so far, in ticks: what its host gave to others, and all of it."""
    with open("/proc/stat") as file:
        spent = [int(field) for field in file.readline().split()[1:9]]
    return spent[7], sum(spent)


def stolen(before, after):
    """Between two calls of `ticks`: the part of the machine's time that its host gave to others, from 0 to 1."""
    return round((after[0] - before[0]) / max(1, after[1] - before[1]), 3)


def busy_time():
    """Seconds for which the machine's cores have worked so far, summed over them, whoever had them."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq = (int(field) for field in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def disk_usage(folders):
    """Bytes that the files below take on disk; an open file without a name is not seen."""
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                try:
                    total += os.lstat(f"{parent}/{name}").st_blocks << 9
                except OSError:
                    pass
    return total


class Sampler:
    """The peaks of a tree's memory while it is entered; and, ten times a second, of the disk of `folders`."""

    def __init__(self, root, folders=()):
        self.root, self.folders, self.disk = root, folders, 0
        self.anonymous = self.resident = 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        looked = 0.0
        while not self.ending.is_set():
            anonymous, resident = memory(self.root)
            self.anonymous, self.resident = max(self.anonymous, anonymous), max(self.resident, resident)
            if self.folders and time.monotonic() - looked > 0.1:
                self.disk, looked = max(self.disk, disk_usage(self.folders)), time.monotonic()
            self.ending.wait(INTERVAL)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def run(command, environment, folder, log, spaces=()):
    """Runs `command` in `folder`, its output appended to `log`; its usage, or Failed with the end of what it said."""
    for _ in orphans():
        pass  # of the step before
    with open(log, "ab") as output:
        output.write(f"$ {' '.join(command)}\n".encode())
        output.flush()
        began, worked = time.monotonic(), busy_time()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            with Sampler(process.pid, spaces) as sampler:
                _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            for pid in tree(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
        wall, busy = time.monotonic() - began, busy_time() - worked
    process.returncode = os.waitstatus_to_exitcode(status)
    used_cpu = used.ru_utime + used.ru_stime
    for orphan in orphans():
        used_cpu += orphan.ru_utime + orphan.ru_stime
    if process.returncode != 0:
        raise Failed(f"{os.path.basename(command[0])} ended with {process.returncode}: {end_of(log)}")
    return Usage(wall, used_cpu, sampler.anonymous, sampler.resident, sampler.disk, busy)


def orphans():
    """What ended orphans took; those that live on are left to run."""
    while True:
        try:
            pid, _, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield used


def end_of(log):
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 400))
        return file.read().decode(errors="replace").strip().replace("\n", " | ")
