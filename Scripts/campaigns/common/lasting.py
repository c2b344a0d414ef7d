#!/usr/bin/env python3
"""The stories again, where the power goes instead of the process: what was said to have succeeded must last."""
import json, os, shutil, sqlite3

from common import copies, stories
from common.desk import Wrong, digest
from common.stories import content


class Settled:
    """What must be so when the power goes after a command has said that it succeeded."""

    steps = 1
    # Whether the last word on standard output is that it succeeded; else the end of the command says so.
    says_so = True

    def step(self, recording, desk):
        recording.run(*self.arguments(desk), says_so=self.says_so)

    def settle(self, desk, results):
        """The commands that had said so, in order."""
        for result in results:
            self.settled(desk, result)

    def settled(self, desk, result):
        raise NotImplementedError


class Push(Settled, stories.Push):
    """Pushes in a row, each of something new: what one keeps without haste may go back after the next."""

    steps, promise = 3, "what was acknowledged restores, and that a target lost it is found out"

    def arguments(self, desk):
        return ["push", "app", "--json"]

    def step(self, recording, desk):
        # An application has it open: the -wal keeps content that is not checkpointed.
        keeper = sqlite3.connect(desk.database)
        keeper.execute("select count(*) from t").fetchone()
        for number in range(self.steps):
            if number:
                desk.change(30)
            recording.absorb(*(desk.database + ending for ending in ("", "-wal", "-shm")))
            recording.run(*self.arguments(desk))
        keeper.close()

    def settled(self, desk, result):
        version = self.version(result)
        desk.acknowledged[version["id"]] = version["sha256"]
        desk.check(version["id"])

    def settle(self, desk, results):
        if results:
            self.lose(desk, self.version(results[-1])["sequence"])
        super().settle(desk, results)

    @staticmethod
    def version(result):
        return json.loads(result.stdout.splitlines()[-1])["versions"][0]

    def look(self, desk, died):
        self.source = desk.source()
        super().look(desk, died)

    def lose(self, desk, sequence):
        """A machine that said a version is safe knows of it: that a target goes back behind it is told."""
        folder, taken = f"{desk.folder}/target/versions", []
        for chain in os.listdir(folder):
            for name in os.listdir(f"{folder}/{chain}"):
                if int(name.split("-")[0]) >= sequence:
                    taken.append((f"{folder}/{chain}/{name}", f"{desk.folder}/taken-{len(taken)}"))
        for name, aside in taken:
            os.rename(name, aside)
        listed = desk.run("list")
        for name, aside in taken:
            os.rename(aside, name)
        if listed.returncode == 0:
            raise Wrong("the target lost what was acknowledged, and list does not mind: this machine forgot that it pushed it")


class FirstPush(Push):
    name = "first push"
    steps = 1

    def prepare(self, desk):
        shutil.rmtree(f"{desk.folder}/state")
        super().prepare(desk)


class Restore(Settled, stories.Restore):
    promise = "the destination is there and whole"

    def settled(self, desk, result):
        if digest(f"{self.folder}/app.db") != self.expected:
            raise Wrong("it said that it restored, and the destination is not there or not whole")


class RestoreCompanions(Settled, copies.RestoreCompanions):
    promise = "the destination is there and whole, with all its files and their modes"

    def settled(self, desk, result):
        if digest(f"{self.folder}/app.db") != self.expected:
            raise Wrong("it said that it restored, and the destination is not there or not whole")
        self.demand_files(desk, modes=True)


class InPlace(Settled):
    promise = "the database is the version"

    def settled(self, desk, result):
        if content(desk.database) != self.new:
            raise Wrong("it said that it restored, and the database is not the version")


class RestoreReplace(InPlace, stories.RestoreReplace):
    pass


class RestoreLive(InPlace, stories.RestoreLive):
    pass


class RestoreLiveRollback(InPlace, stories.RestoreLiveRollback):
    pass


class Init(Settled, stories.Init):
    promise = "the repository is there and opens"

    def settled(self, desk, result):
        desk.must("list")


class KeyAdd(Settled, stories.KeyAdd):
    promise = "the new key opens"

    def settled(self, desk, result):
        if self.opens(desk) != 0:
            raise Wrong("it said that the key was added, and it does not open")

    def opens(self, desk):
        """What a listing with the other key ends with."""
        key = f"{desk.folder}/key"
        os.rename(key, key + ".old")
        shutil.copyfile(self.new, key)
        os.chmod(key, 0o600)
        status = desk.run("list").returncode
        os.rename(key + ".old", key)
        return status


class KeyRemove(KeyAdd, stories.KeyRemove):
    promise = "the removed key does not open"

    def settled(self, desk, result):
        if self.opens(desk) == 0:
            raise Wrong("it said that the key was removed, and it opens")


class Forget(Settled, stories.Forget):
    promise, listed, says_so = "the version is forgotten", False, False

    def settled(self, desk, result):
        if (self.old in desk.must("list", "--json")) != self.listed:
            raise Wrong(f"it said that it did, and the version is {'not ' if self.listed else ''}listed")


class Unforget(Forget, stories.Unforget):
    promise, listed, says_so = "the version is listed", True, True


class Prune(Forget, stories.Prune):
    promise, says_so = "the version is not listed", True


class RestoreTable(Settled, copies.RestoreTable):
    promise = "the other database has the table"

    def settled(self, desk, result):
        if content(self.other) != self.new:
            raise Wrong("it said that the table was restored, and it is not there")


class PullAll(Settled, copies.PullAll):
    promise = "what it fetched is there and whole"

    def settled(self, desk, result):
        if [digest(path) for path in self.fetched()] != [self.expected]:
            raise Wrong("it said that all was fetched, and it is not there or not whole")


class Copy(Settled, copies.Copy):
    promise = "every version is at the other place"

    def settled(self, desk, result):
        self.demand_all(desk)


class Repair(Settled, stories.Repair):
    promise = "every version restores"

    def settled(self, desk, result):
        desk.check_acknowledged()


STORIES = [Push, FirstPush, Restore, RestoreCompanions, RestoreReplace, RestoreLive, RestoreLiveRollback, Init, KeyAdd, KeyRemove, Forget, Unforget, Prune, Repair,
           RestoreTable, PullAll, Copy]
