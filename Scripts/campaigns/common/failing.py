#!/usr/bin/env python3
"""What must hold after a command to which the machine did something: a documented end, and nothing lost, torn or left behind."""
import json, os, shutil

from common.desk import Wrong, digest
from common.stories import InPlace

STATUSES = {0, 1, 2, 3, 10, 11, 12, 13, 14, 15}


class Command:
    """A command at a desk of its own."""

    def __init__(self, name, arguments, base, folder):
        self.name, self.desk = name, begin(base, name, folder)
        self.arguments, self.source = arguments(self.desk), self.desk.source()

    def look(self, result, hit, voiceless):
        look(self.name, self.desk, self.arguments, result, self.source, voiceless)


class Telling:
    """A command that has a story of what must hold when it is killed: that must hold whatever else ends it."""

    def __init__(self, story, base, folder):
        self.desk, self.story = base.clone(folder), story()
        self.story.prepare(self.desk)
        self.arguments, self.source = self.story.arguments(self.desk), self.desk.source()

    def look(self, result, hit, voiceless):
        demand_end(result, voiceless)
        if not isinstance(self.story, InPlace):
            if self.desk.source() != self.source:
                raise Wrong("the database was changed")
        elif result.returncode == 0 and self.story.found(self.desk) != self.story.new:
            raise Wrong("it succeeded, and the database is not the version")
        self.story.look(self.desk, hit)


def demand_end(result, voiceless):
    """It ended by itself, as it is documented, and did not fail without a word."""
    if result.returncode not in STATUSES:
        raise Wrong(f"it ended with {result.returncode}: {result.stderr.strip()[-600:]}")
    if result.returncode != 0 and not voiceless and not (result.stderr.strip() or result.stdout.strip()):
        raise Wrong(f"it ended with {result.returncode} and said nothing")


def begin(base, name, folder):
    desk = base.clone(folder)
    os.mkdir(f"{folder}/restored")
    if name in ("prune", "unforget"):
        first = next(iter(desk.acknowledged))
        desk.must("forget", first)
        desk.taken = first, desk.acknowledged.pop(first)
    if name == "key add":
        desk.write_secret(f"{folder}/new-key", bytes(range(64)))
    return desk


def look(name, desk, arguments, result, source, voiceless):
    """What must hold after a fault, and when the command is run again without one."""
    demand_end(result, voiceless)
    if desk.source() != source:
        raise Wrong("the database was changed")
    if name == "push" and result.returncode == 0:
        for version in json.loads(result.stdout.splitlines()[-1])["versions"]:
            desk.acknowledged[version["id"]] = version["sha256"]
    kept = dict(desk.acknowledged)
    if name == "forget":
        kept.pop(arguments[1])
    destination = f"{desk.folder}/restored/app.db"
    if name == "restore":
        expected = desk.acknowledged[arguments[1]]
        if result.returncode == 0 and digest(destination) != expected:
            raise Wrong("it succeeded, and what it restored is not the version")
        if digest(destination) not in (None, expected):
            raise Wrong("a torn file got the destination's name")
        if left := set(os.listdir(f"{desk.folder}/restored")) - {"app.db"}:
            raise Wrong(f"it left {left} beside the destination")
        if os.path.exists(destination):
            os.unlink(destination)
    if name in ("drill", "repair") and (flagged := [v for v in json.loads(desk.must("list", "--json"))["versions"] if v.get("foundDamaged")]):
        raise Wrong(f"a fault of this machine was taken for damage of {flagged[0]['id'][:12]}")
    if desk.spools():
        raise Wrong(f"it left {desk.spools()} of its copy")
    desk.acknowledged = kept
    desk.check_acknowledged()
    again = desk.run(*arguments)
    if again.returncode != 0 and not (name == "forget" and again.returncode == 14):
        raise Wrong(f"without a fault it ended with {again.returncode}: {again.stderr.strip()[-600:]}")
    if name == "push":
        for version in json.loads(again.stdout.splitlines()[-1])["versions"]:
            desk.acknowledged[version["id"]] = version["sha256"]
    if name == "unforget":
        desk.acknowledged[desk.taken[0]] = desk.taken[1]
    if name == "key add":
        shutil.copyfile(f"{desk.folder}/new-key", f"{desk.folder}/key")
    desk.check_acknowledged()
