#!/usr/bin/env python3
"""A desk whose target is a real server, behind a proxy."""
import json, os, random, shutil, sqlite3, urllib.parse

from common import wire
from common.desk import Desk, Wrong, digest
from common.far import entry

STATUSES = {0, 1, 2, 3, 10, 11, 12, 13, 14, 15}


class Line(Desk):
    """A desk whose target is behind the proxy; `clean` is the same target without it."""

    def __init__(self, binary, folder, seed, target, host="desk", joins=None):
        """`joins` is another desk, whose repository and key this one uses, too."""
        self.binary, self.folder, self.random = os.path.abspath(binary), folder, random.Random(seed)
        self.name, self.kind, self.database, self.acknowledged = target["name"], target["kind"], f"{folder}/app.db", {}
        os.makedirs(folder)
        if joins:
            shutil.copy2(f"{joins.folder}/key", f"{folder}/key")
        else:
            self.write_secret(f"{folder}/key", self.random.randbytes(64))
        url = urllib.parse.urlsplit(target.get("endpoint") or target["url"])
        self.proxy, prefix = wire.Proxy(url.port), joins.prefix if joins else f"wire-{random.randrange(1 << 32):08x}"
        self.server, self.prefix = target, prefix
        # What never gets better is given up after the tries: without this, after a quarter of an hour.
        self.configure({"host": host, "stateFolder": f"{folder}/state", "patience": "0s", "databases": {"app": {"path": self.database}},
                        "targets": {"t": {"keyFile": f"{folder}/key"} | entry(self, target, prefix, self.proxy.port),
                                    "clean": {"keyFile": f"{folder}/key"} | entry(self, target, prefix)}})
        if not joins:
            self.must("--target", "clean", "init")
        connection = sqlite3.connect(self.database)
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table t(id integer primary key, body blob)")
        connection.close()
        self.change(600)
        self.acknowledge()

    def acknowledge(self):
        version = json.loads(self.must("--target", "clean", "push", "app", "--json").splitlines()[-1])["versions"][0]
        self.acknowledged[version["id"]] = version["sha256"]
        self.check(version["id"])

    def check(self, version):
        path = f"{self.folder}/check.db"
        self.must("--target", "clean", "pull", version, "-o", path)
        if digest(path) != self.acknowledged[version]:
            raise Wrong(f"acknowledged version {version[:12]} came back different")
        os.unlink(path)

    def push(self, fault):
        """A push of something new through the proxy; whether it was acknowledged."""
        self.change(40)
        self.proxy.begin(fault)
        result = self.run("--target", "t", "push", "app", "--json")
        self.proxy.fault = None
        self.demand_clear(result)
        if result.returncode == 0:
            version = json.loads(result.stdout.splitlines()[-1])["versions"][0]
            self.acknowledged[version["id"]] = version["sha256"]
            self.check(version["id"])
        return result.returncode == 0

    def pull(self, fault):
        """The newest version through the proxy; whether it came. What comes is never wrong."""
        version, expected = list(self.acknowledged.items())[-1]
        path = f"{self.folder}/pulled.db"
        self.proxy.begin(fault)
        result = self.run("--target", "t", "pull", version, "-o", path)
        self.proxy.fault = None
        self.demand_clear(result)
        found = digest(path)
        if (result.returncode == 0) != (found == expected) or found not in (None, expected):
            raise Wrong(f"it ended with {result.returncode}, and what it wrote is {'wrong' if found else 'missing'}")
        if found:
            os.unlink(path)
        return result.returncode == 0

    def keep(self, fault):
        """Forgets the oldest version and prunes, through the proxy; whether both came to their end. What was not to go is there."""
        while len(self.acknowledged) < 3:
            self.change(40)
            self.acknowledge()
        oldest = next(iter(self.acknowledged))
        self.proxy.begin(fault)
        results = [self.run("--target", "t", *words) for words in (["forget", oldest], ["prune", "--min-age", "0s", "--one-run"])]
        self.proxy.fault = None
        for result in results:
            self.demand_clear(result)
        del self.acknowledged[oldest]
        for version in (next(iter(self.acknowledged)), list(self.acknowledged)[-1]):
            self.check(version)
        return all(result.returncode == 0 for result in results)

    @staticmethod
    def demand_clear(result):
        if result.returncode not in STATUSES:
            raise Wrong(f"it ended with {result.returncode}: {result.stderr.strip()[-500:]}")
        if result.returncode != 0 and "error" not in result.stderr + result.stdout:
            raise Wrong(f"it ended with {result.returncode} and said nothing")
