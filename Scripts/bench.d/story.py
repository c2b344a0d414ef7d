#!/usr/bin/python3
"""The life of one tool with one database: what surrounds a measurement and makes a cell of it."""

import os, sqlite3, time

import databases, measure
from figures import BUSY
from results import uncounted
from room import Meter, Room
from s3 import Bucket

PATIENCE = 60
"""Seconds that are waited for the load to fall before a measurement."""


class Story:
    """Enter it with an empty room; whatever happens inside, the room is left clean."""

    def __init__(self, bench, tool, kind, size, run):
        self.bench, self.kind, self.size, self.run = bench, kind, size, run
        self.bucket = Bucket(bench.wire.target)
        prefix = f"{tool.name.replace('/', '-').replace('+', '-')}-{kind}-{size}-{run}"
        self.room = Room(f"{bench.out}/rooms/{prefix}", bench.wire, self.bucket, prefix, bench.programs)
        self.tool = tool(self.room)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        """What goes wrong around a measurement ends this story, is written down, and lets the others go on."""
        try:
            self.tool.end()
        finally:
            self.tool.forget_saved()
            self.room.leave()
        if error is None:
            self.bench.results.forgive(self.kind, self.size, self.tool.name, "story", self.run)
        if not isinstance(error, (measure.Failed, OSError, RuntimeError, sqlite3.Error)):
            return False
        self.bench.results.add(
            {
                "kind": self.kind,
                "size": self.size,
                "tool": self.tool.name,
                "what": "story",
                "run": self.run,
                "ok": False,
                "error": str(error)[:600],
            }
        )
        print(
            f"{self.kind:7}{self.size:>5}  run {self.run}  {self.tool.name:24}given up: {str(error)[-300:]}", flush=True
        )
        return True

    def cell(self, what, action, kept=True, **more):
        """Measures `action` and writes down what it took; False when it failed, which is written down too."""
        cell = {"kind": self.kind, "size": self.size, "tool": self.tool.name, "what": what, "run": self.run, "ok": True}
        wire, room = self.bench.wire, self.room
        self.wait_while_paused()
        self.wait_while_busy()
        room.meter, room.computed = Meter(), None
        # Asking for a list takes requests and bytes too: it comes before both are counted from.
        kept_on_disk, stored = measure.disk_usage(room.spaces), room.stored()
        logged, (sent, received) = wire.log_size(), wire.bytes()
        began, before, ticks = time.time(), os.getloadavg()[0], measure.ticks()
        try:
            action()
        except (measure.Failed, OSError, sqlite3.Error) as error:
            cell |= {"ok": False, "error": str(error)[:600]}
        total = room.meter.total
        # Between two looks of the sampler a step may write and end: what lies there now, a copy too, was there.
        most_on_disk = max(total.disk, measure.disk_usage(room.spaces))
        # The log first: while it is waited for, the kernel comes to tell of the connections that were closed last.
        logged_after, after = wire.log_size(), wire.bytes()
        # The copy is ours, not the tool's: it is not what the tool keeps.
        if os.path.exists(room.copy):
            os.unlink(room.copy)
        requests = wire.requests(logged, logged_after)
        cell |= {
            "wall": round(total.wall, 4),
            "cpu": round(total.cpu, 4),
            "busy": round(total.busy, 2),
            "anonymous": total.anonymous,
            "resident": total.resident,
            "copy": round(room.meter.copy.wall, 4),
            "disk": max(0, most_on_disk - kept_on_disk),
            "had": kept_on_disk,
            "kept": measure.disk_usage(room.spaces),
            "sent": after[0] - sent,
            "received": after[1] - received,
            "requests": sum(requests.values()),
            "methods": requests,
            "stored": room.stored(),
            "at": round(began),
            "load": round(before, 2),
            "cores": os.cpu_count(),
            "stolen": measure.stolen(ticks, measure.ticks()),
            **more,
        }
        # The kernel's count was not there, or not of all connections.
        if cell["ok"] and (error := uncounted(cell["sent"], cell["stored"] - stored, cell["requests"])):
            cell |= {"ok": False, "error": error}
        if self.is_disturbed:
            cell["disturbed"] = True
        if self.tool.hides:
            del cell["disk"], cell["had"], cell["kept"]
        if os.path.exists(room.live):
            cell["database"] = os.path.getsize(room.live)
        if room.computed is not None:
            cell |= {"sent": room.computed, "stored": room.computed, "computed": True}
        if kept:
            self.bench.results.add(cell)
        said = (
            f"{cell['wall']:8.2f} s {cell['cpu']:8.2f} s {cell['sent'] / 1e6:10.3f} MB"
            if cell["ok"]
            else f"failed: {cell['error'][-200:]}"
        )
        print(f"{self.kind:7}{self.size:>5}  run {self.run}  {self.tool.name:24}{what:18}{said}", flush=True)
        return cell["ok"]

    @property
    def is_disturbed(self):
        return os.path.exists(f"{self.bench.out}/disturbed")

    def wait_while_paused(self):
        """As long as there is a file `pause` beside the results: somebody else needs the machine. What the kernel tells of
        that one's connections is read meanwhile: it keeps only so much.
        """
        while os.path.exists(f"{self.bench.out}/pause"):
            self.bench.wire.bytes()
            time.sleep(1)

    def wait_while_busy(self):
        """The load is a mean over the last minute: what a tool with many threads has left of it is not of the next one.
        Where somebody else works beside it times do not count anyway.
        """
        given_up = time.monotonic() + PATIENCE
        while not self.is_disturbed and os.getloadavg()[0] > BUSY and time.monotonic() < given_up:
            time.sleep(1)

    def pause(self):
        """Lets the database lie still for as long as the tool wants it to before it trusts its times."""
        time.sleep(self.tool.settle)

    def restored(self, expected, take):
        """An action that restores and, unmeasured, compares what came back with the rows of `expected`."""
        output = f"{self.room.folder}/out/restored.db"

        def action():
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(output + suffix):
                    os.unlink(output + suffix)
            take(output)
            known = databases.digest(expected) if expected == self.room.live else self.bench.stock.digest(expected)
            databases.demand(output, known, self.bench.stock.proven)

        return action
