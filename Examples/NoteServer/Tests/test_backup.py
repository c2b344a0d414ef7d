"""Pushes: on demand, by the clock, before migrations."""
import pathlib, threading, unittest
from harness import *


class Backup(NoteServerCase):
    def test_a_backup_holds_what_was_written_and_another_only_when_something_changed(self):
        client = self.start()
        client.add("first")
        status, version = client.ask("POST", "/backup?tag=by-hand&tag=two%20words")
        self.assertEqual(status, 201)
        self.assertEqual(version["tags"], ["by-hand", "two words"])
        self.assertGreater(version["bytes"], 4096)
        self.assertGreater(version["bytesNew"], 0)
        self.assertEqual([(v["id"], v["bytes"]) for v in client.get("/backups")], [(version["id"], version["bytes"])])
        self.assertEqual([title for _, title, _ in contents(self.unsealed(version["id"]))], ["first"])

        status, again = client.ask("POST", "/backup")
        self.assertEqual((status, again["id"], again["unchanged"]), (200, version["id"], True))
        client.add("second")
        status, other = client.ask("POST", "/backup")
        self.assertEqual((status, other["unchanged"]), (201, False))
        self.assertEqual(len(client.get("/backups")), 2)
        self.assertEqual([title for _, title, _ in contents(self.unsealed(other["id"]))], ["first", "second"])

    def test_a_backup_beside_writers_is_one_state(self):
        """What a client was told of before the backup began is in it, and of each client nothing without what it wrote
        before."""
        self.start()
        ended = threading.Event()
        written = {name: [] for name in "abcd"}
        failures = []

        def write(name):
            try:
                client = self.client()
                while not ended.is_set():
                    written[name].append(client.add(f"{name}-{len(written[name])}")["title"])
            except BaseException as failure:
                failures.append(failure)

        writers = [threading.Thread(target=write, args=name) for name in written]
        for writer in writers:
            writer.start()
        try:
            versions = []
            for _ in range(4):
                until("notes", lambda: failures or all(len(titles) > 10 for titles in written.values()))
                before = {name: len(titles) for name, titles in written.items()}
                versions.append((before, self.client().backup("?tag=busy")))
        finally:
            ended.set()
            for writer in writers:
                writer.join()
        self.assertEqual(failures, [])
        for before, version in versions:
            titles = [title for _, title, _ in contents(self.unsealed(version["id"]))]
            for name in written:
                own = [title for title in titles if title.startswith(name)]
                self.assertGreaterEqual(len(own), before[name])
                self.assertEqual(own, [f"{name}-{i}" for i in range(len(own))])
        self.assertEqual(len(self.client().all_notes()), sum(map(len, written.values())))

    def test_only_one_runs_at_a_time(self):
        self.make_old_database(notes=8000)
        self.start()
        self.rewrite("changed")
        gate = threading.Barrier(6)
        answers = []

        def push(number):
            client = self.client()
            client.get("/health")
            gate.wait()
            answers.append(client.ask("POST", f"/backup?tag=t{number}"))

        pushers = [threading.Thread(target=push, args=[number]) for number in range(6)]
        for pusher in pushers:
            pusher.start()
        for pusher in pushers:
            pusher.join()
        self.assertEqual(len(answers), 6)
        done = [document["id"] for status, document in answers if status == 201]
        refused = [document["code"] for status, document in answers if status == 409]
        self.assertEqual(len(done) + len(refused), 6, answers)
        self.assertEqual(set(refused), {"busy"})
        self.assertGreaterEqual(len(done), 1)
        self.assertLessEqual(set(done), {version["id"] for version in self.client().get("/backups")})

    def test_the_locks_of_the_application_are_still_held_after_a_backup(self):
        """A file that is opened and closed beside SQLite in the same process would drop them all."""
        client = self.start()
        client.add("first")

        def locks():
            client.get("/notes")
            inodes = {path.stat().st_ino for path in [self.database, self.database.with_name("notes.db-shm")]}
            lines = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
            return sorted(
                (fields[3], int(fields[5].split(":")[2]), fields[6], fields[7]) for fields in lines
                if fields[4] == str(self.process.pid) and int(fields[5].split(":")[2]) in inodes)

        before = locks()
        self.assertTrue(before)
        first = client.backup()
        self.assertEqual(locks(), before)
        client.add("second")
        client.restore(first["id"])
        self.assertEqual(locks(), before)

    def test_a_scheduled_push_is_made_without_being_asked_for(self):
        client = self.start(NOTES_PUSH_EVERY="1")
        until("the first version", lambda: client.get("/backups"))
        client.add("a note for the next one")
        newest = until("a version with the note", lambda: [
            version for version in client.get("/backups") if contents(self.unsealed(version["id"]))])
        self.assertEqual(len(newest), 1)
        self.stop()

    def test_a_target_that_is_away_stops_no_server(self):
        away = self.target.rename(self.folder / "away")
        client = self.start(NOTES_PUSH_EVERY="1")
        until("the failure in the log", lambda: "scheduled backup failed" in self.log())
        client.add("served all the same")
        status, document = client.ask("POST", "/backup")
        self.assertIn(status, (409, 502))
        away.rename(self.target)
        until("a version", lambda: client.get("/backups"))
        self.stop()

    def test_a_server_that_is_told_to_stop_ends_the_backup_first(self):
        self.make_old_database(notes=8000)
        client = self.start()
        self.rewrite("changed")
        answers = []

        def push():
            pusher = self.client()
            while (answer := pusher.ask("POST", "/backup?tag=last"))[0] == 409:
                pass  # the backup below was first
            answers.append(answer)

        pusher = threading.Thread(target=push)
        pusher.start()
        until("the backup runs, or has", lambda: answers or client.ask("POST", "/backup")[0] == 409)
        self.stop()
        pusher.join()
        self.assertEqual(answers[0][0], 201, answers)
        self.assertFalse(self.database.with_name("notes.db-wal").exists())
        self.assertIn(answers[0][1]["id"], [version["id"] for version in self.start().get("/backups")])


class Migration(NoteServerCase):
    def columns(self, path):
        return [name for name, in rows(path, "SELECT name FROM pragma_table_info('note')")]

    def test_the_database_is_pushed_as_it_was_before_it_is_migrated(self):
        self.make_old_database(notes=50)
        old = contents(self.database)
        client = self.start()
        versions = client.get("/backups")
        self.assertEqual([version["tags"] for version in versions], [["before-migration"]])
        before = self.unsealed(versions[0]["id"])
        self.assertEqual(contents(before), old)
        self.assertNotIn("updatedAt", self.columns(before))
        self.assertEqual({note["updatedAt"] for note in client.all_notes()}, {"2026-01-01T00:00:00Z"})
        self.stop()
        self.assertIn("updatedAt", self.columns(self.database))
        self.assertEqual(len(self.start().get("/backups")), 1)

    def test_without_that_push_nothing_is_migrated(self):
        self.make_old_database(notes=50)
        old = contents(self.database)
        away = self.target.rename(self.folder / "away")
        self.assertEqual(self.run_to_end().returncode, 1)
        self.assertIn("note-server: ", self.log())
        self.assertEqual(contents(self.database), old)
        self.assertNotIn("updatedAt", self.columns(self.database))
        away.rename(self.target)
        self.assertEqual(len(self.start().get("/backups")), 1)

    def test_a_database_of_a_newer_release_is_left_alone(self):
        self.start().add("first")
        self.stop()
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.execute("INSERT INTO grdb_migrations VALUES ('ofTomorrow')")
            db.commit()
        self.assertEqual(self.run_to_end().returncode, 1)
        self.assertIn("newer release", self.log())


if __name__ == "__main__":
    unittest.main()
