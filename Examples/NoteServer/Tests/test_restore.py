"""Restores into the database of a server that goes on answering; and of one that dies in the middle."""
import hashlib, resource, shutil, threading, unittest
from harness import *

NOTES = 6000  # of 3,000 letters each: a database of about 24 MB


def generation(title):
    return title.split("-")[0]


class Clients:
    """Threads that go on until they are told to stop; the first failure of any fails the test."""

    def __init__(self, case, *bodies):
        self.case, self.ended, self.failures = case, threading.Event(), []
        self.threads = [threading.Thread(target=self.repeat, args=[body]) for body in bodies]

    def repeat(self, body):
        try:
            client = self.case.client()
            while not self.ended.is_set():
                body(client)
        except BaseException as failure:
            self.failures.append(failure)
            self.ended.set()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        self.case.assertEqual(self.failures, [])

    def go_on_until(self, what, condition):
        until(what, lambda: self.failures or condition())
        self.case.assertEqual(self.failures, [])


class LiveRestore(NoteServerCase):
    def setUp(self):
        super().setUp()
        self.make_old_database(NOTES)
        client = self.start()
        self.old = client.get("/backups")[0]["id"]  # the push before the migration
        self.rewrite("late")

    def test_readers_see_old_or_new_and_no_write_is_lost(self):
        pages = {reader: [] for reader in range(3)}
        written = {writer: [] for writer in range(3)}  # [when it began, when it was acknowledged, title]

        def reader(number):
            def read(client):
                notes = client.get("/notes?limit=50")
                single = client.get("/notes/1")
                seen = {generation(note["title"]) for note in notes}
                assert len(notes) == 50 and len(seen) == 1, f"half a restore: {seen}"
                pages[number] += [seen.pop(), generation(single["title"])]
            return read

        def writer(number):
            def write(client):
                began = time.monotonic()
                title = client.add(f"written-{number}-{len(written[number])}")["title"]
                written[number].append((began, time.monotonic(), title))
            return write

        bodies = [reader(number) for number in pages] + [writer(number) for number in written]
        with Clients(self, *bodies) as clients:
            def each(list_of, count):
                return lambda: all(len(entries) >= count for entries in list_of.values())
            clients.go_on_until("reads", each(pages, 20))
            clients.go_on_until("writes", each(written, 20))
            asked = time.monotonic()
            answer = self.client().restore(self.old)
            answered = time.monotonic()
            read, wrote = max(map(len, pages.values())), max(map(len, written.values()))
            clients.go_on_until("reads of the new content", each(pages, read + 20))
            clients.go_on_until("writes into the new content", each(written, wrote + 20))

        # Every reader saw the late notes, then the old ones, and never went back.
        for seen in pages.values():
            turn = seen.index("old")
            self.assertEqual(set(seen[:turn]), {"late"})
            self.assertEqual(set(seen[turn:]), {"old"})

        def titles():
            return [note["title"] for note in self.client().all_notes()]

        restored = titles()
        self.assertEqual([generation(title) for title in restored[:NOTES]], ["old"] * NOTES)
        survivors = set(restored[NOTES:])
        for entries in written.values():
            for began, ended, title in entries:
                if ended < asked:
                    self.assertNotIn(title, survivors)
                if began > answered:
                    self.assertIn(title, survivors)
            kept = [title in survivors for _, _, title in entries]
            self.assertEqual(kept, sorted(kept), "a write survived, and a later one of the same client did not")

        # Undone, the content until the restore is back: every acknowledged write is in it or came after it.
        self.client().restore(answer["undo"]["id"])
        undone = titles()
        self.assertEqual([generation(title) for title in undone[:NOTES]], ["late"] * NOTES)
        before = set(undone[NOTES:])
        acknowledged = {title for entries in written.values() for _, _, title in entries}
        self.assertEqual(before | survivors, acknowledged)
        self.assertEqual(before & survivors, set())
        self.stop()
        self.assertEqual(rows(self.database, "PRAGMA integrity_check"), [("ok",)])

    def test_a_restored_version_of_an_older_release_has_the_schema_of_this_one(self):
        client = self.client()
        client.restore(self.old)
        note = client.get("/notes/1")
        self.assertEqual((note["title"], note["updatedAt"]), ("old-1", "2026-01-01T00:00:00Z"))
        self.assertEqual(client.ask("PUT", "/notes/1", {"title": "x", "body": "y"})[0], 200)
        self.assertEqual(list((self.state).glob("restoring*")), [])

    def test_a_version_of_a_newer_release_is_refused_and_nothing_changes(self):
        client = self.client()
        with contextlib.closing(sqlite3.connect(self.database, timeout=PATIENCE)) as db:
            db.execute("INSERT INTO grdb_migrations VALUES ('ofTomorrow')")
            db.commit()
            newer = client.backup()["id"]
            db.execute("DELETE FROM grdb_migrations WHERE identifier = 'ofTomorrow'")
            db.commit()
        status, document = client.ask("POST", f"/restore/{newer}")
        self.assertEqual((status, document["code"]), (409, "newerRelease"))
        self.assertEqual(generation(client.get("/notes/1")["title"]), "late")
        self.assertEqual(list((self.state).glob("restoring*")), [])
        client.add("and goes on")

    def test_only_a_backup_of_the_notes_is_restored_and_only_by_its_id(self):
        client = self.client()
        for version in ("latest", "notes:latest", "other:latest", "ffffffffffff"):
            status, document = client.ask("POST", f"/restore/{version}")
            self.assertEqual((status, document["code"]), (404, "noSuchVersion"))
        self.assertEqual(generation(client.get("/notes/1")["title"]), "late")
        client.restore(self.old[:16])
        self.assertEqual(generation(client.get("/notes/1")["title"]), "old")

    def test_a_restore_that_cannot_push_first_changes_nothing(self):
        """A record that nobody of ours has written makes pushes refuse, and reading goes on: what could be restored is
        not, because nothing could undo it."""
        client = self.client()
        chain, = (path.name for path in (self.target / "versions").iterdir())
        junk = b"no record" * 500
        gone = self.target / "gone" / chain
        gone.mkdir(parents=True, exist_ok=True)
        record = gone / f"{len(junk)}-{hashlib.sha256(junk).hexdigest()}"
        record.write_bytes(junk)
        status, document = client.ask("POST", f"/restore/{self.old}")
        self.assertEqual(status, 502, document)
        self.assertEqual(generation(client.get("/notes/1")["title"]), "late")
        client.add("writes go on")
        record.unlink()
        client.restore(self.old)
        self.assertEqual(generation(client.get("/notes/1")["title"]), "old")


class KilledRestore(NoteServerCase):
    """`kill -9` at many moments of a restore: started again, the server has the old or the new content, whole."""

    def outcome(self):
        """Which generation a copy of what the dead server left holds."""
        copy = self.folder / "left.db"
        for end in ["", "-wal"]:
            copy.with_name(f"left.db{end}").unlink(missing_ok=True)
            if (left := self.database.with_name(f"notes.db{end}")).exists():
                shutil.copyfile(left, f"{copy}{end}")
        self.assertEqual(rows(copy, "PRAGMA integrity_check"), [("ok",)])
        found = rows(copy, "SELECT DISTINCT substr(title, 1, instr(title, '-') - 1), count(*) FROM note GROUP BY 1")
        self.assertEqual([count for _, count in found], [NOTES], found)
        return found[0][0]

    def test_a_server_killed_in_the_middle_of_a_restore_has_old_or_new_content(self):
        self.make_old_database(NOTES)
        client = self.start()
        versions = {"old": client.get("/backups")[0]["id"]}
        self.rewrite("late")
        versions["late"] = client.backup()["id"]
        client.get("/notes")
        image = self.database.stat().st_size
        wal, pulled = self.database.with_name("notes.db-wal"), self.state / "restoring" / "notes.db"

        def size(path):
            try:
                return path.stat().st_size
            except FileNotFoundError:
                return 0

        moments = [("pulled", pulled, 0.0)] + [
            ("written", wal, share) for share in [0.1, 0.3, 0.5, 0.7, 0.9]]
        generation, inside = "late", 0
        for name, path, share in moments:
            # A -wal that was brought home is still as long as it was: begin with none.
            self.stop()
            client = self.start()
            other = {"late": "old", "old": "late"}[generation]
            with self.subTest(moment=name, share=share):
                answers = []

                def restore():
                    try:
                        answers.append(self.client().ask("POST", f"/restore/{versions[other]}"))
                    except Exception as cut:
                        answers.append(cut)

                restorer = threading.Thread(target=restore)
                restorer.start()
                # As fast as this can look: the moment is short.
                while not answers and size(path) <= share * image:
                    pass
                self.kill()
                restorer.join()
                left = self.outcome()
                self.assertIn(left, (generation, other))
                if left == generation and not isinstance(answers[0], tuple):
                    inside += 1
                if isinstance(answers[0], tuple):
                    self.assertEqual((answers[0][0], left), (200, other), "acknowledged, and gone")
                generation = left
                client = self.start()
                self.assertFalse(pulled.parent.exists(), "the copy of a dead restore is still there")
                self.assertEqual({note["title"].split("-")[0] for note in client.get("/notes")}, {left})
        self.assertGreater(inside, 0, "no kill fell into a restore")
        # And it still can be restored.
        client.restore(versions["old"])
        self.assertEqual(generation_of(client), {"old"})
        client.add("goes on")


    def hold_a_read(self):
        """Another process reads, and never ends: the -wal cannot begin anew, and grows."""
        script = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('BEGIN'); "
            "db.execute('SELECT count(*) FROM note').fetchall(); print('held', flush=True); sys.stdin.read()")
        holder = subprocess.Popen(
            [sys.executable, "-c", script, self.database], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def end():
            holder.kill()
            holder.communicate()

        self.addCleanup(end)
        self.assertEqual(holder.stdout.readline(), b"held\n")
        return end

    def test_a_restore_that_ends_at_any_page_leaves_the_old_content(self):
        """A limit for files ends the writing at an exact page of the transaction, and on some kernels the process with
        it, as hard as `kill -9`. Before that, the -wal is made longer than any other file that a restore writes."""
        self.make_old_database(NOTES)
        old = self.start().get("/backups")[0]["id"]
        image, wal = self.database.stat().st_size, self.database.with_name("notes.db-wal")
        for share in [0.02, 0.25, 0.5, 0.75, 0.98]:
            with self.subTest(share=share):
                end_read = self.hold_a_read()
                for _ in range(2):
                    self.rewrite("late")
                limit = wal.stat().st_size + int(share * image)
                self.assertGreater(limit, 2 * image)
                resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                try:
                    status, _ = self.client().ask("POST", f"/restore/{old}")
                    self.assertGreaterEqual(status, 500)
                    self.kill()
                except (http.client.HTTPException, OSError):
                    self.assertEqual(self.process.wait(PATIENCE), -signal.SIGXFSZ, self.log())
                    self.process = None
                self.assertGreater(wal.stat().st_size, limit - 8192, "it ended before it wrote")
                self.assertEqual(self.outcome(), "late")
                end_read()
                client = self.start()
                self.assertEqual(generation_of(client), {"late"})
                client.ask("PUT", "/notes/1", {"title": "late-1", "body": "writes go on"})
                # What lies behind the end of a -wal counts in its length: begin with none.
                self.stop()
                self.start()
        self.client().restore(old)
        self.assertEqual(generation_of(self.client()), {"old"})


def generation_of(client):
    return {generation(note["title"]) for note in client.get("/notes")}


if __name__ == "__main__":
    unittest.main()
