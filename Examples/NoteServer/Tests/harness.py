"""A note server of the tests' own: a process, a folder for all it writes, and clients that speak HTTP with it."""
import contextlib, http.client, json, os, pathlib, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time, unittest

PROGRAM = os.environ.get("NOTE_SERVER") or sys.exit("NOTE_SERVER must name the program; Scripts/test-example sets it")
UNSEAL = pathlib.Path(__file__).resolve().parents[3] / "Scripts" / "unseal.py"
TOKEN = "token-of-the-tests-4f1c"
SECRET = "key-of-the-tests-93ab-of-enough-letters-to-be-one"
PATIENCE = 120  # seconds after which what never comes is a failure; nothing is asserted of how long anything takes


def until(what, condition):
    """The first true value of `condition`."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"never came: {what}")


def private(path, text):
    path.write_text(text + "\n")
    path.chmod(0o600)
    return str(path)


class Client:
    """One connection; not for two threads at once."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def ask(self, method, path, body=None, token=TOKEN, raw=None):
        """-> (status, what the JSON of the answer says; None without any)"""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = raw if raw is not None else json.dumps(body) if body is not None else None
        if data is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def get(self, path, **options):
        status, document = self.ask("GET", path, **options)
        assert status == 200, (path, status, document)
        return document

    def add(self, title, body="text"):
        status, note = self.ask("POST", "/notes", {"title": title, "body": body})
        assert status == 201, (status, note)
        return note

    def backup(self, query=""):
        status, version = self.ask("POST", f"/backup{query}")
        assert status in (200, 201), (status, version)
        return version

    def restore(self, version):
        status, answer = self.ask("POST", f"/restore/{version}")
        assert status == 200, (status, answer)
        return answer

    def all_notes(self):
        notes = []
        while page := self.get(f"/notes?after={notes[-1]['id'] if notes else 0}&limit=1000"):
            notes += page
        return notes


class NoteServerCase(unittest.TestCase):
    """A folder with settings, a target with a repository, and one server at a time."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sealift-example."))
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = self.folder / "notes.db"
        self.target = self.folder / "target"
        self.state = self.folder / "state"
        self.key = self.folder / "key"
        self.settings = {
            "database": str(self.database), "port": 0, "target": str(self.target), "stateFolder": str(self.state),
            "keyFile": private(self.key, SECRET),  # not a passphrase, which is slow to try, as it should be
            "adminTokenFile": private(self.folder / "token", TOKEN),
        }
        self.process = None
        self.starts = 0
        self.addCleanup(self.kill)
        self.assertEqual(self.run_to_end("init").returncode, 0, self.log())

    # Processes

    def environment(self, **variables):
        (self.folder / "config.json").write_text(json.dumps(self.settings))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NOTES_")}
        return kept | {"NOTES_CONFIG": str(self.folder / "config.json")} | variables

    def log_path(self):
        return self.folder / f"log-{self.starts}"

    def log(self):
        return self.log_path().read_text()

    def run_to_end(self, *arguments, **variables):
        """A run that is to end by itself; what it says is in the log."""
        self.starts += 1
        with open(self.log_path(), "wb") as log:
            return subprocess.run(
                [PROGRAM, *arguments], env=self.environment(**variables), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=PATIENCE)

    def start(self, **variables):
        """-> a client of the server, which listens when this returns"""
        self.starts += 1
        with open(self.log_path(), "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM], env=self.environment(**variables), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def listening():
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log()}"
            return re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log())

        self.port = int(until("the server listens", listening)[1])
        return self.client()

    def client(self):
        client = Client(self.port)
        self.addCleanup(client.connection.close)
        return client

    def stop(self):
        """As a service manager does it."""
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 0, self.log())
        self.process = None

    def doCleanups(self):
        """What the server said is told with a failure."""
        outcome = self._outcome
        if self.starts and outcome and not outcome.success:
            print(f"\n--- the log of {self.id()}:\n{self.log()}---", file=sys.stderr)
        return super().doCleanups()

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    # The database, seen by others

    def make_old_database(self, notes, generation="old"):
        """A database as the first release of the server left it: without the migration that came later. Its notes
        hardly compress, so that copying them takes a while."""
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.execute("PRAGMA journal_mode = wal")
            db.executescript("""
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('createNotes');
                CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL,
                                   createdAt DATETIME NOT NULL);
                """)
            db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO note "
                "SELECT i, ? || '-' || i, hex(randomblob(1500)), '2026-01-01 00:00:00.000' FROM n", (notes, generation))
            db.commit()

    def rewrite(self, generation):
        """Another program changes every note in one transaction, while the server runs."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=PATIENCE)) as db:
            db.execute("UPDATE note SET title = ? || '-' || id, body = hex(randomblob(1500))", (generation,))
            db.commit()

    def unsealed(self, version):
        """The path of the version as a reader without any of our code restores it."""
        path = self.folder / f"unsealed-{version[:16]}-{self.starts}.db"
        path.unlink(missing_ok=True)
        run = subprocess.run(
            [sys.executable, UNSEAL, self.target, "--key-file", self.key, "restore", version, "-o", path],
            capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return path


def rows(path, query):
    """What a query answers, of a file that nobody has open."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def contents(path):
    return rows(path, "SELECT id, title, body FROM note ORDER BY id")
