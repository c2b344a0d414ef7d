#!/usr/bin/env python3
"""A folder with a live database, a repository with acknowledged versions, and a state that is not pushed yet."""
import hashlib, json, os, random, shutil, sqlite3, subprocess


class Wrong(Exception):
    """Something that must never happen, did."""


def digest(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Desk:
    """The database is in WAL mode, with content in its -wal that is not checkpointed."""

    config_name = "config.json"

    def __init__(self, binary, folder, seed, versions=2, rows=400):
        self.binary, self.folder, self.rows = os.path.abspath(binary), folder, rows
        self.random = random.Random(seed)
        self.database = f"{folder}/app.db"
        os.makedirs(folder, exist_ok=True)
        self.write_secret(f"{folder}/key", self.random.randbytes(64))
        self.begin_anew()
        self.must("init")
        # While this connection lives, nobody is the last to close: the -wal keeps content that is not checkpointed.
        self.keeper = sqlite3.connect(self.database, check_same_thread=False)
        self.keeper.execute("pragma journal_mode=wal")
        self.keeper.execute("create table t(id integer primary key, body blob)")
        self.change(rows)
        for _ in range(versions):
            self.acknowledge()
            self.change(120)

    def begin_anew(self):
        """A target where nothing is yet, and a machine that knows of none."""
        shutil.rmtree(f"{self.folder}/state", ignore_errors=True)
        self.acknowledged = {}
        self.configure({"host": "desk", "stateFolder": f"{self.folder}/state", "patience": "0s",
                        "targets": {"t": {"keyFile": f"{self.folder}/key"} | self.empty_target()},
                        "databases": {"app": {"path": self.database}}})

    def empty_target(self):
        """What the configuration says of a target where nothing is."""
        shutil.rmtree(f"{self.folder}/target", ignore_errors=True)
        os.mkdir(f"{self.folder}/target")
        self.target = f"file://{self.folder}/target"
        return {"url": self.target}

    @staticmethod
    def write_secret(path, content):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)

    def configure(self, config):
        with open(os.open(f"{self.folder}/config.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(config, file)

    def change(self, rows):
        with sqlite3.connect(self.database) as connection:
            connection.execute("pragma wal_autocheckpoint=0")
            for _ in range(rows):
                connection.execute("insert into t(body) values (?)", (self.random.randbytes(900),))
        connection.close()

    def command(self, *arguments):
        return [self.binary, "--config", f"{self.folder}/{self.config_name}", "--no-progress", *arguments]

    def run(self, *arguments, prefix=(), timeout=120):
        return subprocess.run([*prefix, *self.command(*arguments)], capture_output=True, text=True, timeout=timeout,
                              errors="replace", stdin=subprocess.DEVNULL)

    def must(self, *arguments):
        result = self.run(*arguments)
        if result.returncode != 0:
            raise Wrong(f"{' '.join(arguments)} failed with {result.returncode}: {result.stderr.strip()}")
        return result.stdout

    def acknowledge(self):
        """Pushes, and notes what the version restores to; its id."""
        version = json.loads(self.must("push", "app", "--json").splitlines()[-1])["versions"][0]
        self.acknowledged[version["id"]] = version["sha256"]
        self.check(version["id"])
        return version["id"]

    def check(self, version):
        path = f"{self.folder}/check.db"
        self.must("pull", version, "-o", path)
        if digest(path) != self.acknowledged[version]:
            raise Wrong(f"acknowledged version {version[:12]} came back different")
        os.unlink(path)

    def check_acknowledged(self):
        for version in self.acknowledged:
            self.check(version)

    def source(self):
        return digest(self.database), digest(self.database + "-wal"), digest(self.database + "-journal")

    def spools(self):
        """What pushes left of their copies."""
        folder = f"{self.folder}/state/spool"
        return [name for name in os.listdir(folder) if name != "lock"] if os.path.isdir(folder) else []

    def clone(self, folder):
        """The same desk in another folder: every case begins from the same state."""
        shutil.copytree(self.folder, folder)
        copy = object.__new__(Desk)
        copy.__dict__.update(self.__dict__, folder=folder, database=f"{folder}/app.db", acknowledged=dict(self.acknowledged))
        with open(f"{folder}/config.json") as file:
            text = file.read().replace(self.folder, folder)
        with open(f"{folder}/config.json", "w") as file:
            file.write(text)
        return copy
