#!/usr/bin/python3
"""Cells: one JSON line for each measurement of one tool. A line is only ever added; the last one of a key counts."""

import json, os

from figures import one_sitting, tells


def key(cell):
    return cell["kind"], cell["size"], cell["tool"], cell["what"], cell["run"]


def is_ours(tool):
    return tool.startswith("sealift/")


class Results:
    def __init__(self, folder, program=None, processor=None, commit=None):
        """`program` names the build of Sealift that is measured now, `commit` what it was built of, `processor` what it
        runs on.
        """
        self.path, self.cells, self.outdated = f"{folder}/results.jsonl", {}, set()
        self.program, self.processor, self.commit = program, processor, commit
        if os.path.exists(self.path):
            with open(self.path) as file:
                for line in file:
                    try:
                        cell = json.loads(line)
                    except ValueError:
                        continue  # half a line of a run that was cut: measured again
                    self.cells[key(cell)] = cell

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
        if not cell.get("ok", False) or (is_ours(tool) and cell.get("program") != self.program):
            return False
        return not timed or tells(cell, "wall")

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
