#!/usr/bin/python3
"""Cells: one JSON line for each measurement of one tool. A line is only ever added; the last one of a key counts.

What a report was written of is kept beside it, so that another machine can go on with it, and anyone write it anew.
"""

import json, os, re

from figures import one_sitting, tells
from targets import CHANGES, in_series

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


def without_folders(text):
    """Without where files lie on this machine: results are published."""
    return re.sub(r"(?<![\w.…:/])/(?:[^\s/'\"]+/)+", "…/", text)


def key(cell):
    return cell["kind"], cell["size"], cell["tool"], cell["what"], cell["run"]


def is_ours(tool):
    return tool.startswith("sealift/")


def uncounted(sent, grew, requests):
    """What shows that the count of bytes is not whole; None when nothing does. What is stored was sent, and a request
    is never without a byte. Objects that were deleted meanwhile make what was stored look like less, not more.
    """
    if requests and not sent:
        return f"{requests} requests, and no byte was counted"
    if sent < grew:
        return f"{grew} bytes more are stored than before, and only {sent} were counted as sent"
    return None


def base_of(cell):
    """The name of the cell that tells what was stored before this push. None where no cell does: a first push meets
    what making the repository has stored, Litestream begins anew before a change, the limits store nothing, and a
    restore adds nothing.
    """
    tool, what = cell["tool"], cell["what"]
    if "+" in tool or tool.startswith(("limit/", "litestream/")):
        return None
    if in_series(what):
        name, _, number = what.rpartition("-")
        return f"{name}-{int(number) - 1:03}"
    return "first" if what in ("unchanged", *CHANGES) else None


def refuse_uncounted(cells):
    """Lets those fail, of key → cell, of which another one of the same story shows that their bytes were not all
    counted: older cells were not compared with what was stored before them when they were measured.
    """
    for cell in cells.values():
        before = cells.get(key(cell | {"what": base_of(cell)}), {"ok": False})
        if cell["ok"] and before["ok"] and one_sitting([before, cell]):
            if error := uncounted(cell["sent"], cell["stored"] - before["stored"], cell["requests"]):
                cell |= {"ok": False, "error": error}


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
        refuse_uncounted(self.cells)

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
        if "error" in cell:
            cell["error"] = without_folders(cell["error"])
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
