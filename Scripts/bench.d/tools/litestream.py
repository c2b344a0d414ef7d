#!/usr/bin/python3
"""Litestream, without encryption, which this version has none of: as a daemon beside the application, and by -once."""

import signal, subprocess, time

import measure
from tools.base import Tool, change_in_place


class Litestream(Tool):
    # It keeps what it remembers beside the database, where the application's own -wal grows too.
    hides = True

    def write_settings(self):
        room = self.room
        self.settings = f"{room.folder}/litestream.yml"
        with open(self.settings, "w") as file:
            # Compaction would send the same content again, at times that the clock decides: not within a measurement.
            file.write(f"""levels:
  - interval: 24h
dbs:
  - path: {room.live}
    replicas:
      - type: s3
        bucket: {room.bucket.name}
        path: {room.prefix}
        endpoint: {room.wire.endpoint}
        region: {room.bucket.region}
        force-path-style: true
""")

    def command(self, *arguments):
        return [f"{self.room.programs}/litestream", arguments[0], "-config", self.settings, *arguments[1:]]

    def prepare(self):
        self.write_settings()

    def change(self, prepared, kind, name, turn):
        change_in_place(self.room, kind, name, turn)

    def change_further(self, kind, name, turn):
        self.change(None, kind, name, turn)

    def restore(self, output):
        self.room.step(self.command("restore", "-o", output, self.room.live))

    def save(self):
        return None

    def rollback(self, saved):
        return False


class LitestreamOnce(Litestream):
    name, title = "litestream/once", "Litestream replicate -once"

    def push(self):
        self.room.step(self.command("replicate", "-once"))


class LitestreamDaemon(Litestream):
    """Pushes by itself: a push here is to wait until it has sent all. Its time says when that was, not what it took."""

    name, title = "litestream/daemon", "Litestream daemon"
    unchanged = False
    daemon = None

    def push(self):
        began, cpu = time.monotonic(), 0.0
        if self.daemon is None:
            self.sent_before = self.room.wire.bytes()[0]
            with open(self.room.log, "ab") as log:
                self.daemon = subprocess.Popen(
                    self.command("replicate"),
                    cwd=self.room.folder,
                    env=self.room.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        else:
            cpu = self.cpu_before
        measure.forget_resident_peak(self.daemon.pid)
        with measure.Sampler(self.daemon.pid) as sampler:
            self.wait_for_start()
            last = self.room.wire.quiet(3.0)
        if self.daemon.poll() is not None:
            raise measure.Failed(f"litestream ended with {self.daemon.returncode}: {measure.end_of(self.room.log)}")
        self.room.meter.total += measure.Usage(
            max(0.0, last - began), measure.cpu_time(self.daemon.pid) - cpu, sampler.anonymous, sampler.resident
        )

    def wait_for_start(self):
        """On a large database it takes a while before the first byte of content leaves, also after a change."""
        deadline = time.monotonic() + 120
        while self.room.wire.bytes()[0] - self.sent_before < 10_000 and self.daemon.poll() is None:
            if time.monotonic() > deadline:
                raise measure.Failed("the daemon sent nothing for two minutes")
            time.sleep(0.1)

    def change(self, prepared, kind, name, turn):
        self.cpu_before = measure.cpu_time(self.daemon.pid)
        self.sent_before = self.room.wire.bytes()[0]
        super().change(prepared, kind, name, turn)

    def end(self):
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGINT)
            try:
                self.daemon.wait(20)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
            self.daemon = None


TOOLS = [LitestreamDaemon, LitestreamOnce]
