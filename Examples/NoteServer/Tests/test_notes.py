"""Notes over HTTP, and what is refused."""
import pathlib, unittest
from harness import *


class Notes(NoteServerCase):
    def test_a_note_is_written_read_changed_and_removed(self):
        client = self.start()
        note = client.add("first", "Grüße")
        self.assertEqual(client.get(f"/notes/{note['id']}"), note)
        status, changed = client.ask("PUT", f"/notes/{note['id']}", {"title": "second", "body": "…"})
        self.assertEqual((status, changed["title"], changed["id"]), (200, "second", note["id"]))
        self.assertEqual(client.get("/notes"), [changed])
        self.assertEqual(client.ask("DELETE", f"/notes/{note['id']}"), (204, None))
        self.assertEqual(client.get("/notes"), [])
        self.stop()

    def test_every_error_is_json_with_a_code(self):
        client = self.start()
        for method, path, raw, expected in [
            ("GET", "/notes/7", None, (404, "noSuchNote")),
            ("PUT", "/notes/7", '{"title":"a","body":"b"}', (404, "noSuchNote")),
            ("DELETE", "/notes/7", None, (404, "noSuchNote")),
            ("GET", "/nothing", None, (404, "notFound")),
            ("GET", "/notes/seven", None, (400, "badRequest")),
            ("GET", "/notes?limit=1001", None, (400, "badRequest")),
            ("GET", "/notes?after=-1", None, (400, "badRequest")),
            ("POST", "/notes", '{"title":"no body"}', (400, "badRequest")),
            ("POST", "/notes", "{", (400, "badRequest")),
            ("POST", "/restore/0123456789", None, (404, "noSuchVersion")),
        ]:
            with self.subTest(path=path, raw=raw):
                status, document = client.ask(method, path, raw=raw)
                self.assertEqual((status, document["code"]), expected)
                self.assertTrue(document["message"])

    def test_backups_and_restores_need_the_token(self):
        client = self.start()
        for token in [None, "", "wrong", TOKEN + "x", TOKEN[:-1] + "x"]:
            for method, path in [("POST", "/backup"), ("GET", "/backups"), ("POST", "/restore/latest")]:
                status, document = client.ask(method, path, token=token)
                self.assertEqual((status, document["code"]), (401, "unauthorized"), (token, path))
        self.assertEqual(client.get("/backups"), [])
        client.get("/notes", token=None)


    def test_an_error_of_our_own_tells_nothing_of_a_note(self):
        client = self.start()
        client.add("canary-title", "canary-body")
        with contextlib.closing(sqlite3.connect(self.database, timeout=PATIENCE)) as db:
            db.execute("UPDATE note SET updatedAt = 'no date'")
            db.commit()
        status, document = client.ask("GET", "/notes")
        self.assertEqual((status, document["code"]), (500, "internal"))
        self.assertIn("request failed", self.log())
        self.assertNotIn("canary", self.log() + str(document))


class Settings(NoteServerCase):
    def refused(self, said, *arguments, status=2, **variables):
        self.assertEqual(self.run_to_end(*arguments, **variables).returncode, status, self.log())
        self.assertIn(said, self.log())
        self.assertFalse(self.database.exists())

    def test_a_setting_that_means_nothing_is_refused(self):
        self.refused("there is no setting NOTES_DATABSE", NOTES_DATABSE="x")
        self.settings["prot"] = 1
        self.refused("there is no setting 'prot'")

    def test_a_setting_that_is_wrong_or_missing_is_refused(self):
        self.refused("'port' is not a number", NOTES_PORT="http")
        self.refused("'pushEvery' is not a number", NOTES_PUSH_EVERY="0")
        self.refused("'initialize' is not understood", "initialize")
        self.refused("'stateFolder' is no path that begins with a slash", NOTES_STATE_FOLDER="state")
        self.refused("both 'keyFile' and 'passphraseFile'", NOTES_PASSPHRASE_FILE=str(self.key))
        del self.settings["target"]
        self.refused("'target' is missing")

    def test_a_secret_that_others_can_read_is_refused(self):
        self.key.chmod(0o640)
        self.refused("can be read by others")

    def test_a_passphrase_opens_too(self):
        self.target = self.folder / "other"
        passphrase = private(self.folder / "passphrase", "a passphrase of several words")
        del self.settings["keyFile"]
        self.settings |= {"target": str(self.target), "passphraseFile": passphrase}
        self.assertEqual(self.run_to_end("init").returncode, 0, self.log())
        client = self.start()
        client.add("first")
        self.assertEqual(client.backup()["id"], client.get("/backups")[0]["id"])

    def test_a_repository_is_not_made_over_another(self):
        self.refused("there is a repository already", "init", status=1)

    def test_no_secret_shows(self):
        client = self.start()
        client.add("canary-note")
        client.backup()
        proc = pathlib.Path(f"/proc/{self.process.pid}")
        shown = (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes() + self.log().encode()
        for secret in [TOKEN, SECRET, "canary-note"]:
            self.assertNotIn(secret.encode(), shown)
        for path in [self.database, self.state, self.target]:
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)


if __name__ == "__main__":
    unittest.main()
