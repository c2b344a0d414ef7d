#!/usr/bin/python3
"""Reads cells as figures: medians, spreads, ratios within one run, the better of a tool's two variants."""

import os, statistics

SPARE = 2
"""A cell that began at a load of more than its cores and these shares them with others: its times say nothing."""
BUSY = os.cpu_count() + SPARE
"""That load for whoever measures now; of a cell, its own machine's counts, wherever the report is written."""
CORES = 2
"""Of the machines of all cells that do not say it."""
STOLEN = 0.1
"""Where a virtual machine's host gave more than this part of its time to others, times say nothing either."""
TIMES = ("wall", "cpu", "copy")
SOME = 3
"""Runs of which a spread can be told."""
SITTING = 3 * 3600
"""Times of cells that lie further apart, in seconds, are not compared: a machine is another one on another day."""


PAIRED = {"restic", "borg", "duplicity", "rclone"}
"""Tools that are given a copy made in one of two ways, each of which is a variant; the better one counts."""


class Figures:
    def __init__(self, cells):
        self.groups, self.failed, self.known = {}, [], {}
        for cell in cells:
            if cell["ok"] and cell["what"] != "story":
                of = cell["kind"], cell["size"], cell["tool"], cell["what"]
                self.groups.setdefault(of, {})[cell["run"]] = with_whole_disk(cell)
            elif not cell["ok"]:
                self.failed.append(cell)

    def runs(self, kind, size, tool, what):
        return self.groups.get((kind, size, tool, what), {})

    def variants(self, family, size=None):
        """`restic` → restic/vacuum and restic/backup, as far as measured; a whole name stays alone."""
        if (family, size) not in self.known:
            found = {
                tool
                for _, of, tool, _ in self.groups
                if (tool == family or tool.split("/")[0] == family) and size in (None, of)
            }
            self.known[family, size] = sorted(tool for tool in found if "+" not in tool or tool == family)
        return self.known[family, size]

    def best(self, kind, size, family, what, metric, run):
        """One run's cell of the variant for which this figure is best; None where a variant's figure is not there, or cannot
        be believed: it might have been the best.
        """
        found = [self.runs(kind, size, tool, what).get(run) for tool in self.variants(family)]
        cells = [cell for cell in found if cell and metric in cell]
        if family in PAIRED and len(cells) < 2 or not all(tells(cell, metric) for cell in cells):
            return None
        return min(cells, key=lambda cell: cell[metric], default=None)

    def of_run(self, kind, size, family, what, metric, run):
        cell = self.best(kind, size, family, what, metric, run)
        return cell[metric] if cell else None

    def all_runs(self, kind, size, family):
        variants = self.variants(family)
        found = ((k, s, tool, runs) for (k, s, tool, _), runs in self.groups.items())
        return sorted({run for k, s, tool, runs in found if (k, s) == (kind, size) and tool in variants for run in runs})

    def values(self, kind, size, family, what, metric):
        found = (self.of_run(kind, size, family, what, metric, run) for run in self.all_runs(kind, size, family))
        return [value for value in found if value is not None]

    def median(self, kind, size, family, what, metric):
        values = self.values(kind, size, family, what, metric)
        return statistics.median(values) if values else None

    def ratios(self, kind, size, one, other, what, metric, other_what=None, other_metric=None):
        """One tool's figure over another's, run by run."""
        found, other_metric = [], other_metric or metric
        for run in self.all_runs(kind, size, one):
            above = self.best(kind, size, one, what, metric, run)
            below = self.best(kind, size, other, other_what or what, other_metric, run)
            if above and below and below[other_metric] and (metric not in TIMES or one_sitting([above, below])):
                found.append(above[metric] / below[other_metric])
        return found

    def ratio(self, *arguments, **more):
        found = self.ratios(*arguments, **more)
        return statistics.median(found) if found else None

    def spreads(self, metric, whats):
        """Tool → (the greatest over the least, the group's key) of each group of enough runs, ascending; the variants
        of a tool that is given copies stand together. Of several builds of Sealift each by itself: what one of them sends
        more than another is no chance.
        """
        found = {}
        for group, runs in self.groups.items():
            builds = {}
            for cell in runs.values():
                if cell.get(metric) and not cell.get("computed"):
                    builds.setdefault(build_of(cell), []).append(cell[metric])
            ratios = [max(values) / min(values) for values in builds.values() if len(values) >= SOME]
            if group[3] in whats and ratios:
                family = group[2].split("/")[0]
                tool = group[2] if family not in PAIRED else family
                found.setdefault(tool, []).append((max(ratios), group))
        return {tool: sorted(groups) for tool, groups in found.items()}

    def builds(self, groups):
        """How many builds of Sealift the cells of some groups are of."""
        found = {build_of(cell) for group in groups for cell in self.runs(*group).values()}
        return len(found - {None})

    def kinds(self):
        return [kind for kind in ("oltp", "events", "mail", "blobs") if self.sizes(kind)]

    def sizes(self, kind):
        """Those up to 1 GiB that the tools were compared on, ascending."""
        found = {of for k, of, tool, what in self.groups if k == kind and what == "first" and "+" not in tool}
        return sorted((size for size in found if in_bytes(size) <= 1 << 30), key=in_bytes)

    def sizes_of(self, kind, family, what):
        """All that one tool was measured on, 10 GiB too, ascending."""
        tools = self.variants(family)
        found = {of for k, of, tool, w in self.groups if k == kind and w == what and tool in tools}
        return sorted(found, key=in_bytes)


def tells(cell, metric):
    """Whether a cell has this figure, and it can be believed."""
    if metric not in cell or metric not in TIMES:
        return metric in cell
    busy = cell.get("cores", CORES) + SPARE
    return cell["load"] <= busy and cell.get("stolen", 0) <= STOLEN and not cell.get("disturbed", False)


def with_whole_disk(cell):
    """What lay on disk after a first push had been there, whatever was seen ten times a second: older cells were not
    looked at in the end.
    """
    if cell["what"] != "first" or not {"disk", "kept"} <= cell.keys():
        return cell
    return cell | {"disk": max(cell["disk"], cell["kept"] - cell.get("had", 0))}


def one_sitting(cells):
    """Whether they were taken within some hours, and, as far as that was noted, by one machine."""
    moments = [cell["at"] for cell in cells if "at" in cell]
    machines = {cell["processor"] for cell in cells if cell.get("processor")}
    return len(machines) < 2 and (not moments or max(moments) - min(moments) <= SITTING)


def build_of(cell):
    """What a cell of Sealift was measured with; None of all others."""
    if "program" not in cell:
        return None
    return cell.get("commit") or f"{cell['program'][:8]}, of a commit that was not noted"


def machine_of(cell):
    """What a cell was measured on, as far as that was noted."""
    return f"{cell.get('processor') or 'a machine that was not noted'}, {plural(cell.get('cores', CORES), 'core')}"


def machines_of(cells):
    """All of them, in words."""
    return " and ".join(sorted({machine_of(cell) for cell in cells}))


def in_bytes(size):
    return int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]] if size[-1] in "KMG" else int(size)


def megabytes(value, more=0):
    """Bytes as people read them: three digits, and as many more as are asked for, in a unit that suits."""
    if value is None:
        return "–"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor * 0.9995:
            return f"{three(value / factor, more)} {unit}"
    return f"{value:.0f} B"


def mebibytes(value, more=0):
    return "–" if value is None else f"{value / (1 << 20):.{more}f} MiB"


def seconds(value, more=0):
    if value is None:
        return "–"
    return f"{value * 1000:.{more}f} ms" if value < 0.0995 else f"{three(value, more)} s"


def plural(count, name):
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def three(value, more=0):
    return f"{value:.{more + (0 if value >= 99.5 else 1 if value >= 9.95 else 2)}f}"


def as_ratio(value, more=0):
    """0.013 → 1/77, 0.83 → 0.83 ×."""
    if value is None:
        return "–"
    return f"1/{1 / value:.{1 + more}f}".removesuffix(".0") if 0 < value < 0.145 else f"{value:.{2 + more}f} ×"
