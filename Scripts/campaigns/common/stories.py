#!/usr/bin/env python3
"""Commands that are ended in the middle, and what must hold afterwards, whatever ended them."""
import hashlib, json, os, shutil, sqlite3, tempfile

from common.desk import Wrong, digest


class Story:
    """One command that is killed. `arguments` are those of the run that dies."""

    name = ""
    fault = ""
    asserted = ""

    def prepare(self, desk):
        """Brings the desk to where the command begins."""

    def arguments(self, desk):
        raise NotImplementedError

    def look(self, desk, died):
        """What must hold after the kill, and after the next run. Also called when the run lived."""
        raise NotImplementedError


class Push(Story):
    name, fault = "push", "kill -9 of a push, at any call"
    asserted = ("source untouched; acknowledged versions restore bit for bit; the next push succeeds and restores; "
                "no spool is left")

    def prepare(self, desk):
        self.source = desk.source()

    def arguments(self, desk):
        return ["push", "app"]

    def look(self, desk, died):
        if desk.source() != self.source:
            raise Wrong("the killed push changed the database")
        desk.check_acknowledged()
        desk.acknowledge()
        if desk.source() != self.source:
            raise Wrong("the push after the kill changed the database")
        desk.check_acknowledged()
        if desk.spools():
            raise Wrong(f"spool folders are left behind: {desk.spools()}")


class Restore(Story):
    name, fault = "restore", "kill -9 of a restore, at any call"
    asserted = "the destination is absent or complete, nothing beside it; restoring again leaves only the destination"

    def prepare(self, desk):
        self.folder = f"{desk.folder}/restored"
        os.mkdir(self.folder)
        self.version, self.expected = next(iter(desk.acknowledged.items()))

    def arguments(self, desk):
        return ["restore", self.version, "--to", f"{self.folder}/app.db"]

    def look(self, desk, died):
        destination = f"{self.folder}/app.db"
        if os.path.exists(destination) and digest(destination) != self.expected:
            raise Wrong("a torn file got the destination's name")
        for suffix in ("-wal", "-shm", "-journal"):
            if os.path.exists(destination + suffix):
                raise Wrong(f"{suffix} stands beside the destination")
        if os.path.exists(destination):
            os.unlink(destination)
        desk.must(*self.arguments(desk))
        if digest(destination) != self.expected or os.listdir(self.folder) != ["app.db"]:
            raise Wrong(f"restoring again left {os.listdir(self.folder)}")


def content(path):
    """What SQLite sees in a database with the files beside it, or None; looked at in a copy, so that nothing is recovered."""
    if not os.path.exists(path):
        return None
    with tempfile.TemporaryDirectory(prefix="sealift-kill-look-") as folder:
        for suffix in ("", "-wal", "-journal"):
            if os.path.exists(path + suffix):
                shutil.copyfile(path + suffix, f"{folder}/{os.path.basename(path)}{suffix}")
        return content_itself(f"{folder}/{os.path.basename(path)}")


def content_itself(path):
    """The same, where whoever looks may recover it."""
    connection = sqlite3.connect(path)
    try:
        if connection.execute("pragma integrity_check").fetchone() != ("ok",):
            raise Wrong(f"{path} is not whole")
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()
    except sqlite3.DatabaseError as error:
        raise Wrong(f"{path} is no whole database: {error}") from None
    finally:
        connection.close()


class InPlace(Story):
    """A restore over the database where it is."""

    mode = journal = ""
    # What the old database and the new one hold; the same for all clones of a desk.
    known = {}

    def prepare(self, desk):
        if self.journal:
            connection = sqlite3.connect(desk.database)
            connection.execute(f"pragma journal_mode={self.journal}")
            connection.close()
        self.version = self.wanted(desk)
        if self.name not in self.known:
            pulled = f"{desk.folder}/pulled.db"
            desk.must("pull", self.version, "-o", pulled)
            self.known[self.name] = content(desk.database), content(pulled)
            os.unlink(pulled)
        self.old, self.new = self.known[self.name]
        if self.old == self.new:
            raise Wrong("the story needs a database that differs from the version")

    def wanted(self, desk):
        """Which version is to come back."""
        return next(iter(desk.acknowledged))

    def arguments(self, desk):
        return ["restore", self.version, self.mode]

    def kept(self, desk):
        """Databases under the names that a restore gives to what it took the place of."""
        names = [name for name in os.listdir(desk.folder) if name.startswith("app.db.before-")]
        return [f"{desk.folder}/{name}" for name in names if not name.endswith(("-wal", "-shm", "-journal"))]

    def found(self, desk):
        """What the database holds after the kill."""
        return content(desk.database)

    def look(self, desk, died):
        found = self.found(desk)
        if found is None:
            self.look_between(desk)
        elif found not in (self.old, self.new):
            raise Wrong("the database is neither the old one nor the new one")
        elif found == self.new and not any(content(kept) == self.old for kept in self.kept(desk)):
            raise Wrong("the new database is in its place, and the old one is nowhere")
        desk.must(*self.arguments(desk))
        if content(desk.database) != self.new:
            raise Wrong("restoring again did not bring the new content")
        if not any(content(kept) == self.old for kept in self.kept(desk)):
            raise Wrong("the old content is nowhere any more")
        hidden = [name for name in os.listdir(desk.folder) if name.startswith(".")]
        if hidden or desk.spools():
            raise Wrong(f"restoring again left {hidden + desk.spools()}")

    def look_between(self, desk):
        raise Wrong("the database is gone")


class RestoreReplace(InPlace):
    name, fault, mode = "restore --replace", "kill -9 of a restore that replaces, at any call", "--replace"
    asserted = ("the database with its -wal is the old one or the new one whole, or away, and the next restore says where the old one "
                "is; restoring again succeeds, the old one is kept, nothing else is left")

    def look_between(self, desk):
        (kept,) = self.kept(desk)
        if content(kept) != self.old:
            raise Wrong("the database is away, and the old one is not whole under its other name")
        told = desk.run("restore", self.version)
        if told.returncode == 0 or kept not in told.stderr or "mv -n" not in told.stderr:
            raise Wrong(f"the next restore does not say where the old database is: {told.stderr.strip()}")


class RestoreLive(InPlace):
    name, fault, mode = "restore --live", "kill -9 of a live restore into a database in WAL mode, at any call", "--live"
    asserted = "the database is the old one or the new one whole after SQLite's own recovery; the old content is kept; restoring again succeeds"


class RestoreLiveRollback(RestoreLive):
    name, journal = "restore --live, rollback journal", "delete"
    fault = "kill -9 of a live restore into a database with a rollback journal, at any call"


class Init(Story):
    name, fault = "init", "kill -9 of an init, at any call"
    asserted = "init again succeeds, or the repository is there and opens; a push is acknowledged and restores"

    def prepare(self, desk):
        desk.begin_anew()

    def arguments(self, desk):
        return ["init"]

    def look(self, desk, died):
        desk.must("init", "--if-missing")
        desk.acknowledge()


class KeyAdd(Story):
    name, fault = "key add", "kill -9 while a key is added, at any call"
    asserted = "the key in use opens; the new one opens after the change was made again"

    def prepare(self, desk):
        self.new = f"{desk.folder}/new-key"
        desk.write_secret(self.new, desk.random.randbytes(64))

    def arguments(self, desk):
        return ["key", "add", "--new-key-file", self.new]

    def look(self, desk, died):
        desk.check_acknowledged()
        desk.must(*self.arguments(desk))
        desk.check_acknowledged()
        shutil.copyfile(self.new, f"{desk.folder}/key")
        desk.check_acknowledged()


class KeyRemove(KeyAdd):
    name, fault = "key remove", "kill -9 while a key is removed, at any call"
    asserted = "the key in use opens, all versions restore; the removal can be made again"

    def prepare(self, desk):
        super().prepare(desk)
        before = {key["id"] for key in json.loads(desk.must("key", "list", "--json"))["keys"]}
        desk.must("key", "add", "--new-key-file", self.new)
        after = {key["id"] for key in json.loads(desk.must("key", "list", "--json"))["keys"]}
        (self.id,) = after - before

    def arguments(self, desk):
        return ["key", "remove", self.id]

    def look(self, desk, died):
        desk.check_acknowledged()
        again = desk.run(*self.arguments(desk))
        if again.returncode not in (0, 14):
            raise Wrong(f"removing again ended with {again.returncode}: {again.stderr.strip()}")
        desk.check_acknowledged()


class Forget(Story):
    name, fault = "forget", "kill -9 of a forget, at any call"
    asserted = "versions that were to stay restore, before and after the command is run again; a push goes on"

    def prepare(self, desk):
        desk.acknowledge()
        self.old = list(desk.acknowledged)[0]

    def arguments(self, desk):
        return ["forget", self.old]

    def look(self, desk, died):
        kept = {version: sum for version, sum in desk.acknowledged.items() if version != self.old}
        desk.acknowledged = kept
        desk.check_acknowledged()
        again = desk.run(*self.arguments(desk))
        if again.returncode not in (0, 14):
            raise Wrong(f"the command again ended with {again.returncode}: {again.stderr.strip()}")
        desk.check_acknowledged()
        desk.change(10)
        desk.acknowledge()


class Unforget(Forget):
    name, fault = "unforget", "kill -9 of an unforget, at any call"
    asserted = "every version restores once the command was run again"

    def prepare(self, desk):
        super().prepare(desk)
        desk.must("forget", self.old)

    def arguments(self, desk):
        return ["unforget", self.old]

    def look(self, desk, died):
        desk.check_acknowledged()
        desk.run(*self.arguments(desk))
        desk.check_acknowledged()
        listed = desk.must("list", "--json")
        if self.old not in listed:
            raise Wrong("the version is not listed again")


class Prune(Forget):
    name, fault = "prune", "kill -9 of a prune, at any call"
    asserted = ("versions that were not forgotten restore, before and after the prune is run again; that one ends the work; "
                "a push goes on")

    def prepare(self, desk):
        super().prepare(desk)
        desk.must("forget", self.old)

    def arguments(self, desk):
        return ["prune", "--min-age", "0s", "--one-run"]

    def look(self, desk, died):
        super().look(desk, died)
        left = json.loads(desk.must(*self.arguments(desk), "--dry-run", "--json"))["targets"][0]["chains"]
        if any(amount["objects"] for chain in left for amount in chain.values() if isinstance(amount, dict)):
            raise Wrong(f"what a killed prune left is not pruned by the next one: {left}")


class Repair(Story):
    name, fault = "repair", "kill -9 of a repair, at any call"
    asserted = "versions that were whole restore; the repair run again succeeds, and every version restores; a push goes on"

    def prepare(self, desk):
        """Of the newest version everything is lost that no other one needs; the database still has it."""
        packs = f"{desk.folder}/target/packs"
        before = {f"{parent}/{name}" for parent, _, names in os.walk(packs) for name in names}
        self.harmed = desk.acknowledge()
        after = {f"{parent}/{name}" for parent, _, names in os.walk(packs) for name in names}
        if after == before:
            raise Wrong("the push stored no pack of its own")
        for path in after - before:
            os.unlink(path)

    def arguments(self, desk):
        return ["repair", "app"]

    def look(self, desk, died):
        for version in desk.acknowledged:
            if version != self.harmed:
                desk.check(version)
        desk.must(*self.arguments(desk))
        desk.check_acknowledged()
        desk.must("check", "--read-data")
        desk.change(10)
        desk.acknowledge()


STORIES = [Push, Restore, RestoreReplace, RestoreLive, RestoreLiveRollback, Init, KeyAdd, KeyRemove, Forget, Unforget, Prune, Repair]
