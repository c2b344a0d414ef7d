#!/usr/bin/python3
"""Where one tool lives while it is measured: a folder of its own, an own prefix in the bucket, a meter on the wire."""

import dataclasses, fcntl, json, os, shutil, subprocess, sys, time

import measure
from traffic import Traffic

GARBAGE = 512 << 20
"""Bytes of deleted objects that the server may hold."""
PASSPHRASE = "correct horse battery staple\n"


class Wire:
    """The S3 server. Bytes are counted by the kernel, requests in the server's own access log."""

    def __init__(self, target, servers):
        self.target, self.log, self.servers = target, f"{servers}/ceph/log/client.gateway.log", servers
        self.endpoint, self.garbage = target["endpoint"], 0
        self.traffic = Traffic(int(self.endpoint.rsplit(":", 1)[1]))

    def bytes(self):
        """Sent to the server and received from it since the measuring began."""
        return self.traffic.bytes()

    def quiet(self, seconds):
        """Waits until nothing has been sent for so long; the moment of the last byte."""
        last, moment = self.bytes(), time.monotonic()
        while time.monotonic() - moment < seconds:
            time.sleep(0.02)
            if self.bytes() != last:
                last, moment = self.bytes(), time.monotonic()
        return moment

    def log_size(self):
        """The length of the access log once it has stopped growing: the server writes it a little later."""
        size, since = os.path.getsize(self.log), time.monotonic()
        while time.monotonic() - since < 0.25:
            time.sleep(0.05)
            if os.path.getsize(self.log) != size:
                size, since = os.path.getsize(self.log), time.monotonic()
        return size

    def requests(self, begin, end):
        """Method → count of the requests that the server logged between two lengths of its log."""
        found = {}
        with open(self.log, "rb") as file:
            file.seek(begin)
            for line in file.read(end - begin).split(b"\n"):
                if b" beast: " in line and (quoted := line.split(b'"')) and len(quoted) > 1:
                    method = quoted[1].split(b" ")[0].decode()
                    found[method] = found.get(method, 0) + 1
        return found

    def freed(self, size):
        """Ceph frees the memory of deleted objects only when told to, or hours later. Telling it takes a second: it is
        told when there is something to be had.
        """
        self.garbage += size
        if self.garbage > GARBAGE:
            self.garbage = 0
            self.collect_garbage()

    def collect_garbage(self):
        subprocess.run(
            [
                "radosgw-admin",
                "-c",
                f"{self.servers}/ceph/ceph.conf",
                "-n",
                "client.gateway",
                "gc",
                "process",
                "--include-all",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )


@dataclasses.dataclass
class Meter:
    """What the steps of one cell took. `copy` is the part of `total` that made the copy a tool needs to be given."""

    total: measure.Usage = dataclasses.field(default_factory=measure.Usage)
    copy: measure.Usage = dataclasses.field(default_factory=measure.Usage)


class Room:
    def __init__(self, folder, wire, bucket, prefix, programs):
        self.folder, self.wire, self.bucket, self.prefix, self.programs = folder, wire, bucket, prefix, programs
        self.live, self.copy, self.log = f"{folder}/live/app.db", f"{folder}/copy/app.db", f"{folder}.log"
        self.state = f"{folder}/state"
        self.meter = Meter()
        self.lock()
        self.empty()

    def lock(self):
        """Several may measure side by side, but not the same: until the room is left it is ours alone."""
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        self.held = os.open(f"{self.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"bench: another one measures in {os.path.basename(self.folder)} now; let it end first")

    @property
    def spaces(self):
        """Where a tool keeps files of its own: repository, caches, spool, copies."""
        return [f"{self.folder}/{name}" for name in ("state", "tmp", "copy", "home")]

    @property
    def path(self):
        """Bucket and prefix."""
        return f"{self.bucket.name}/{self.prefix}"

    def empty(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("live", "copy", "state", "home", "tmp", "out"):
            os.makedirs(f"{self.folder}/{name}")
        with open(os.open(f"{self.folder}/passphrase", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(PASSPHRASE)
        self.wipe()

    def wipe(self):
        """Deletes everything of this room at the server."""
        self.delete(self.objects())

    def delete(self, names):
        """`names` with sizes and ETags, as `objects` gives them."""
        for name in names:
            self.bucket.delete(name)
        self.wire.freed(sum(size for size, _ in names.values()))

    def objects(self):
        return self.bucket.listing(self.prefix + "/")

    def stored(self):
        return sum(size for size, _ in self.objects().values())

    def environment(self):
        """Nothing of whoever runs the benchmark: no authorities, proxies, profiles or settings of other tools."""
        target = self.bucket
        return {
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": f"{self.folder}/home",
            "TMPDIR": f"{self.folder}/tmp",
            "LANG": "C.UTF-8",
            "AWS_ACCESS_KEY_ID": target.access_key,
            "AWS_SECRET_ACCESS_KEY": target.secret_key,
            "AWS_DEFAULT_REGION": target.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
            "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        }

    def place(self, database):
        """Puts a database where the application would have it, closed and in WAL mode."""
        for suffix in ("-wal", "-shm"):
            if os.path.exists(self.live + suffix):
                os.unlink(self.live + suffix)
        shutil.copyfile(database, self.live)

    def step(self, command, extra=None, copy=False):
        """Runs one command as part of the cell that is being measured."""
        usage = measure.run(command, self.environment() | (extra or {}), self.folder, self.log, self.spaces)
        self.meter.total += usage
        if copy:
            self.meter.copy += usage

    def output(self, command, extra=None):
        """What a command prints; not measured."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment() | (extra or {}), capture_output=True, text=True
        )
        if done.returncode != 0:
            raise measure.Failed(
                f"{os.path.basename(command[0])} ended with {done.returncode}: {done.stderr.strip()[-400:]}"
            )
        return done.stdout

    def take_copy(self, method):
        """The file that a tool is given which cannot copy a live database itself."""
        if os.path.exists(self.copy):
            os.unlink(self.copy)
        statement = f"VACUUM INTO '{self.copy}'" if method == "vacuum" else f".backup '{self.copy}'"
        self.step(["sqlite3", self.live, statement], copy=True)

    def leave(self):
        """Gives disk and the server's memory back; the log of what was said stays."""
        self.wipe()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.held)


def target_of(servers):
    with open(f"{servers}/targets.json") as file:
        return next(target for target in json.load(file)["targets"] if target["name"] == "ceph")
