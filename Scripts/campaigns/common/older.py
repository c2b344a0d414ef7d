#!/usr/bin/env python3
"""A machine whose state folder is lost, or is that of an earlier day, while the target went on."""
import collections, json, os, random, shutil

from common.desk import Wrong

ASSERTED = ("acknowledged versions restore; the next push is acknowledged and restores; a prune deletes nothing that is needed, "
            "or says why it does not; check --read-data finds all of it whole")
HABITS = ["lost", "older", "older with the database", "mixed", "mixed with the database", "cut", "spoilt"]


class Past:
    """A desk with a history of pushes, a forget and a prune, and what its own files were after each."""

    def __init__(self, base, root):
        self.root, self.days = root, []
        self.desk = base.clone(f"{root}/past")
        first = next(iter(self.desk.acknowledged))
        self.keep()
        self.desk.change(40)
        second = self.desk.acknowledge()
        self.keep()
        self.desk.change(40)
        self.desk.acknowledge()
        self.keep()
        for version in (first, second):
            self.desk.must("forget", version)
            del self.desk.acknowledged[version]
        self.keep()
        self.desk.must("prune", "--min-age", "0s")
        self.keep()
        self.desk.change(40)
        self.desk.acknowledge()

    def keep(self):
        folder = f"{self.root}/past-{len(self.days)}"
        os.mkdir(folder)
        shutil.copytree(f"{self.desk.folder}/state", f"{folder}/state")
        for ending in ("", "-wal"):
            if os.path.exists(self.desk.database + ending):
                shutil.copy2(self.desk.database + ending, f"{folder}/app.db{ending}")
        self.days.append(folder)

    def go_back(self, number, seed):
        """One state; what kind it was and whether prune agreed."""
        rng, habit = random.Random(f"{seed} state {number}"), HABITS[number % len(HABITS)]
        desk = self.desk.clone(f"{self.root}/past-clone-{number}")
        try:
            self.spoil(desk, habit, rng)
            return habit, self.look(desk)
        except Wrong as wrong:
            raise Wrong(f"state, schedule {number} ({habit}): {wrong}") from None
        finally:
            shutil.rmtree(desk.folder, ignore_errors=True)

    def spoil(self, desk, habit, rng):
        state, day = f"{desk.folder}/state", rng.choice(self.days)
        if habit in ("cut", "spoilt"):
            files = sorted(f"{parent}/{name}" for parent, _, names in os.walk(state) for name in names)
            for path in rng.sample(files, rng.randint(1, len(files))):
                self.harm(path, habit, rng)
            return
        shutil.rmtree(state)
        if habit.startswith("older"):
            shutil.copytree(f"{day}/state", state)
        if habit.startswith("mixed"):
            for one in rng.sample(self.days, len(self.days)):
                self.mix(f"{one}/state", state, rng)
        if habit.endswith("database"):
            for ending in ("", "-wal", "-shm"):
                if os.path.exists(desk.database + ending):
                    os.unlink(desk.database + ending)
                if os.path.exists(f"{day}/app.db{ending}"):
                    shutil.copy2(f"{day}/app.db{ending}", desk.database + ending)

    @staticmethod
    def harm(path, habit, rng):
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            if habit == "cut":
                file.truncate(rng.choice([0, size // 2, max(0, size - 1)]))
            elif size:
                file.seek(rng.randrange(size))
                file.write(rng.choice([bytes(512), rng.randbytes(512)])[: max(1, size - file.tell())])

    @staticmethod
    def mix(source, state, rng):
        """Some of the files of a day over those that are there."""
        for parent, _, names in os.walk(source):
            there = state + parent[len(source):]
            os.makedirs(there, mode=0o700, exist_ok=True)
            for name in names:
                if rng.random() < 0.5:
                    shutil.copy2(f"{parent}/{name}", f"{there}/{name}")

    @staticmethod
    def push_again(desk):
        """What it has pushed since that day is another machine's to it: it is told, and the push is acknowledged."""
        pushed = desk.run("push", "app", "--json")
        if pushed.returncode != 0 and not (pushed.returncode == 3 and '"code":"pushedElsewhere"' in pushed.stderr):
            raise Wrong(f"push ended with {pushed.returncode}: {pushed.stderr.strip()}")
        version = json.loads(pushed.stdout.splitlines()[-1])["versions"][0]
        desk.acknowledged[version["id"]] = version["sha256"]
        desk.check(version["id"])

    def look(self, desk):
        desk.check_acknowledged()
        self.push_again(desk)
        pruned = desk.run("prune", "--min-age", "0s")
        if pruned.returncode not in (0, 13) or pruned.returncode and not pruned.stderr.strip():
            raise Wrong(f"prune ended with {pruned.returncode}: {pruned.stderr.strip()}")
        desk.check_acknowledged()
        checked = desk.run("check", "--read-data")
        if checked.returncode != 0:
            raise Wrong(f"check ended with {checked.returncode}: {(checked.stdout + checked.stderr).strip()}")
        desk.change(10)
        desk.acknowledge()
        return pruned.returncode == 0


def told(found):
    kinds = collections.Counter(habit for habit, _ in found)
    return ", ".join(f"{habit} {count}" for habit, count in kinds.most_common()) + f"; prune ran {sum(ran for _, ran in found)} times"
