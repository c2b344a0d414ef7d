#!/usr/bin/python3
"""Cells: one JSON line for each measurement of one tool. A line is only ever added; the last one of a key counts.

What a report was written of is kept beside it, so that another machine can go on with it, and anyone write it anew.
"""

import json, os

from figures import one_sitting, tells

PUBLISHED = os.path.realpath(f"{os.path.dirname(os.path.abspath(__file__))}/../../Docs/benchmarks/cells.jsonl")


def read(path):
    """The cells of a file, which need not be there."""
    if not os.path.exists(path):
        return
    with open(path) as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                continue  # half a line of a run that was cut: measured again


def key(cell):
    return cell["kind"], cell["size"], cell["tool"], cell["what"], cell["run"]


def is_ours(tool):
    return tool.startswith("sealift/")


class Results:
    def __init__(self, folder, program=None, processor=None, commit=None, published=PUBLISHED):
        """`program` names the build of Sealift that is measured now, `commit` what it was built of, `processor` what it
        runs on.
        """
        self.path, self.cells, self.outdated = f"{folder}/results.jsonl", {}, set()
        self.program, self.processor, self.commit = program, processor, commit
        self.published = published
        for path in filter(None, (published, self.path)):
            self.cells |= {key(cell): cell for cell in read(path)}

    def publish(self):
        # The same program is of the same commit, whatever else lay in the folder when it was built.
        clean = {cell["program"]: cell["commit"] for cell in self if "dirty" not in (cell.get("commit") or "dirty")}
        for cell in self:
            if cell.get("program") in clean:
                cell["commit"] = clean[cell["program"]]
        os.makedirs(os.path.dirname(self.published), exist_ok=True)
        with open(self.published, "w") as file:
            for _, cell in sorted(self.cells.items()):
                file.write(json.dumps(cell, separators=(",", ":"), sort_keys=True) + "\n")

    def add(self, cell):
        if is_ours(cell["tool"]):
            cell |= {"program": self.program, "commit": self.commit}
        cell["processor"] = self.processor
        self.cells[key(cell)] = cell
        self.outdated.discard(key(cell))
        with open(self.path, "a") as file:
            file.write(json.dumps(cell) + "\n")

    def has(self, kind, size, tool, what, run, timed=True):
        """A cell that failed is measured again; so is one of another build of Sealift, and, where times matter, one whose
        time says nothing.
        """
        cell = self.cells.get((kind, size, tool, what, run), {})
        if (kind, size, tool, what, run) in self.outdated:
            return False
        if not cell.get("ok", False) or (is_ours(tool) and not self.is_of_this_build(cell)):
            return False
        return not timed or tells(cell, "wall")

    def is_of_this_build(self, cell):
        """Another machine may have made another program of the same sources."""
        is_clean = self.commit and "dirty" not in self.commit
        return cell.get("program") == self.program or (is_clean and cell.get("commit") == self.commit)

    def outdate(self, moment, *keys):
        """Has those cells measured again that were taken before the moment."""
        self.outdated |= {key for key in keys if key in self.cells and self.cells[key].get("at", 0) < moment}

    def are_of_one_sitting(self, *keys):
        return one_sitting([self.cells[key] for key in keys if key in self.cells])

    def forgive(self, *failed):
        """A story that was given up once and has now been told to its end."""
        if failed in self.cells:
            self.add(dict(zip(("kind", "size", "tool", "what", "run"), failed), ok=True))

    def __iter__(self):
        return iter(self.cells.values())
