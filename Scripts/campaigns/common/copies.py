#!/usr/bin/env python3
"""Stories of commands that bring more than one file, or bring it elsewhere: into another database, a folder, another repository."""
import json, os, shutil, sqlite3

from common.desk import Wrong, digest
from common.stories import InPlace, Restore, RestoreReplace, Story, content


class RestoreTable(Story):
    name, fault = "restore --table", "kill -9 while a table is restored into another database, at any call"
    asserted = ("the other database is the old one, or has the whole table, after SQLite's own recovery; doing it again brings the table; "
                "nothing is left")
    # What the other database holds before and after; the same for all clones of a desk.
    known = {}

    def prepare(self, desk):
        self.folder = f"{desk.folder}/other"
        self.other, self.version = f"{self.folder}/other.db", next(iter(desk.acknowledged))
        os.mkdir(self.folder)
        with sqlite3.connect(self.other) as connection:
            connection.execute("create table mine(a, b)")
            connection.executemany("insert into mine values (?, ?)", [(number, "x" * 500) for number in range(400)])
        connection.close()
        self.old = content(self.other)
        if "new" not in self.known:
            pulled, expected = f"{desk.folder}/pulled.db", f"{desk.folder}/expected.db"
            desk.must("pull", self.version, "-o", pulled)
            shutil.copyfile(self.other, expected)
            connection = sqlite3.connect(expected)
            connection.execute("attach ? as version", (pulled,))
            (schema,) = connection.execute("select sql from version.sqlite_schema where name = 't'").fetchone()
            with connection:
                connection.execute(schema)
                connection.execute("insert into main.t select * from version.t")
            connection.close()
            self.known["new"] = content(expected)
            os.unlink(pulled)
            os.unlink(expected)
        self.new = self.known["new"]

    def arguments(self, desk):
        return ["restore", self.version, "--table", "t", "--into", self.other]

    def look(self, desk, died):
        found = content(self.other)
        if found not in (self.old, self.new):
            raise Wrong("the other database is neither as it was nor has the whole table")
        if found == self.old:
            desk.must(*self.arguments(desk))
        else:
            # Where it is done already, it is the next push that sweeps what a run that died has left.
            desk.acknowledge()
        if content(self.other) != self.new:
            raise Wrong("doing it again did not bring the table")
        self.demand_tidy(desk)

    def demand_tidy(self, desk):
        left = [name for name in os.listdir(self.folder) if name not in ("other.db", "other.db-journal")]
        if left or desk.spools():
            raise Wrong(f"restoring the table left {left + desk.spools()}")


class RestoreCompanions(Restore):
    """Files come along: they have their names before the database has its own."""

    name, fault = "restore with companions", "kill -9 of a restore with companions, at any call"
    asserted = "the destination is absent, or complete with all files that come with it; restoring again, once it is out of the way, brings all"

    def prepare(self, desk):
        os.makedirs(f"{desk.folder}/files/inner")
        # Of the larger desks, more.
        for number in range(max(6, desk.rows // 20)):
            path = f"{desk.folder}/files/{'inner/' if number % 2 else ''}{number}"
            desk.write_secret(path, desk.random.randbytes(9000 * (number % 6)))
            os.chmod(path, 0o640 if number % 3 else 0o444)
        os.chmod(f"{desk.folder}/files/inner", 0o711)
        os.chmod(f"{desk.folder}/files", 0o750)
        with open(f"{desk.folder}/config.json") as file:
            config = json.load(file)
        config["databases"]["app"]["companions"] = ["files"]
        desk.configure(config)
        desk.acknowledge()
        super().prepare(desk)
        self.version, self.expected = list(desk.acknowledged.items())[-1]
        self.files = self.tree(f"{desk.folder}/files")

    @staticmethod
    def tree(folder):
        found = {}
        for parent, _, names in os.walk(folder):
            found[f"{parent[len(folder):]}/"] = None, os.stat(parent).st_mode
            for name in names:
                path = f"{parent}/{name}"
                found[path[len(folder):]] = digest(path), os.stat(path).st_mode
        return found

    def demand_files(self, desk, modes=False):
        found = self.tree(f"{self.folder}/app.db.companions/files")
        if found != self.files and (modes or {k: v[0] for k, v in found.items()} != {k: v[0] for k, v in self.files.items()}):
            wrong = {name for name in self.files if found.get(name) != self.files[name]}
            raise Wrong(f"the database has its name, and of its files {sorted(wrong)} are not there, not whole or of another mode")

    def look(self, desk, died):
        if os.path.exists(f"{self.folder}/app.db"):
            self.demand_files(desk)
        shutil.rmtree(f"{self.folder}/app.db.companions", ignore_errors=True)
        if os.path.exists(f"{self.folder}/app.db"):
            if digest(f"{self.folder}/app.db") != self.expected:
                raise Wrong("a torn file got the destination's name")
            os.unlink(f"{self.folder}/app.db")
        desk.must(*self.arguments(desk))
        self.demand_files(desk, modes=True)
        if sorted(os.listdir(self.folder)) != ["app.db", "app.db.companions"]:
            raise Wrong(f"restoring again left {os.listdir(self.folder)}")


class PullAll(Story):
    name, fault = "pull --all", "kill -9 while everything is fetched into a folder, at any call"
    asserted = "what has a name in the folder is whole; fetching again brings all and leaves nothing else"

    def prepare(self, desk):
        self.folder = f"{desk.folder}/fetched"
        os.mkdir(self.folder)
        self.expected = list(desk.acknowledged.values())[-1]

    def arguments(self, desk):
        return ["pull", "--all", self.folder]

    def fetched(self):
        """The databases that have a name there."""
        return [f"{parent}/{name}" for parent, _, names in os.walk(self.folder) for name in names if not name.startswith(".")]

    def look(self, desk, died):
        for path in self.fetched():
            if digest(path) != self.expected:
                raise Wrong(f"{path} has its name and is not whole")
            os.unlink(path)
        desk.must(*self.arguments(desk))
        if [digest(path) for path in self.fetched()] != [self.expected]:
            raise Wrong(f"fetching again did not bring the version: {self.fetched()}")
        hidden = [name for _, folders, names in os.walk(self.folder) for name in folders + names if name.startswith(".")]
        if hidden:
            raise Wrong(f"fetching again left {hidden}")


class Copy(Story):
    name, fault = "copy", "kill -9 while versions are copied to another repository, at any call"
    asserted = "the repository copied from is as it was; copying again ends the work: every version is there once and restores"

    def prepare(self, desk):
        self.key, self.place = f"{desk.folder}/other-key", f"{desk.folder}/copied"
        desk.write_secret(self.key, desk.random.randbytes(64))
        os.mkdir(self.place)
        desk.must("init", *self.there())

    def there(self):
        return ["--target", f"file://{self.place}", "--key-file", self.key]

    def arguments(self, desk):
        return ["copy", "--from", "t", "--from-key-file", f"{desk.folder}/key", "--to", f"file://{self.place}", "--key-file", self.key]

    def look(self, desk, died):
        desk.check_acknowledged()
        desk.must(*self.arguments(desk))
        self.demand_all(desk)
        if desk.spools():
            raise Wrong(f"spool folders are left behind: {desk.spools()}")

    def demand_all(self, desk):
        versions = json.loads(desk.must("list", "--json", *self.there()))["versions"]
        copied, path = [], f"{desk.folder}/copied.db"
        for version in versions:
            desk.must("pull", version["id"], "-o", path, *self.there())
            copied.append(digest(path))
            os.unlink(path)
        if sorted(copied) != sorted(desk.acknowledged.values()):
            raise Wrong(f"{len(copied)} versions are at the other place, and not one of each of {len(desk.acknowledged)}")


class InPlaceCompanions(InPlace):
    """Files come back to where they are used, in the place of what stands there, with the rows that know of them."""

    def plant(self, desk, word):
        """Files that say when they were written; fewer with time."""
        folder = f"{desk.folder}/files"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(f"{folder}/inner")
        for number in range(8 if word == "pushed" else 5):
            desk.write_secret(f"{folder}/{'inner/' if number % 2 else ''}{number}", f"{word} {number}\n".encode() * 400 * number)
        return self.files(folder)

    @staticmethod
    def files(folder):
        return {name: content for name, (content, _) in RestoreCompanions.tree(folder).items()}

    def wanted(self, desk):
        return list(desk.acknowledged)[-1]

    def prepare(self, desk):
        self.new_files = self.plant(desk, "pushed")
        with open(f"{desk.folder}/config.json") as file:
            config = json.load(file)
        config["databases"]["app"]["companions"] = ["files"]
        desk.configure(config)
        desk.acknowledge()
        desk.change(40)
        self.old_files = self.plant(desk, "since")
        self.known = {}  # Every desk has rows of its own by now.
        super().prepare(desk)

    def aside(self, desk):
        """Folders under the names that a restore gives to what it took the place of."""
        return [f"{desk.folder}/{name}" for name in os.listdir(desk.folder) if name.startswith("files.before-")]

    def look(self, desk, died):
        rows, files = self.found(desk), self.files(f"{desk.folder}/files")
        if files not in (self.old_files, self.new_files, {}, {"/": None}):
            raise Wrong("the files that belong to the database are neither the old ones nor the new ones")
        if rows == self.new and files != self.new_files:
            raise Wrong("the new rows are there, and the files that they know of are not")
        if not any(self.files(place) == self.old_files for place in [f"{desk.folder}/files", *self.aside(desk)]):
            raise Wrong("the old files are nowhere")
        if rows == self.old and files != self.old_files:
            self.look_at_next_restore(desk)
        super().look(desk, died)
        if self.files(f"{desk.folder}/files") != self.new_files:
            raise Wrong("restoring again did not bring the files")
        if not any(self.files(place) == self.old_files for place in self.aside(desk)):
            raise Wrong("the old files are nowhere any more")

    def look_at_next_restore(self, desk):
        """The old rows are there again, and the old files are not in their places."""


class RestoreReplaceCompanions(InPlaceCompanions, RestoreReplace):
    name, fault = "restore --replace with companions", "kill -9 of a restore that replaces a database and its files, at any call"
    asserted = ("as without files; the files are the old ones, the new ones or away, never torn; with the new database stand the new "
                "files; the old ones are kept; restoring again brings both")

    def look_between(self, desk):
        pass  # Where the old database is, is looked at without companions.

    def look(self, desk, died):
        super().look(desk, died)
        empty = [name for name in os.listdir(desk.folder) if name.startswith("files.") and not os.listdir(f"{desk.folder}/{name}")]
        if empty:
            raise Wrong(f"restoring again left {empty}")


STORIES = [RestoreCompanions, RestoreReplaceCompanions, RestoreTable, PullAll, Copy]
