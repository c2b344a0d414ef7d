#!/usr/bin/python3
"""Writes Docs/Benchmarks.md and its charts from the cells: every figure there comes from here."""
import collections, json, os, shutil, statistics

import bounds, drawing, method, tables
from figures import Figures
from results import PUBLISHED, Results

DOCS = f"{os.path.dirname(os.path.abspath(__file__))}/../../Docs"


def write(folder):
    results = Results(folder)
    figures = Figures(results)
    results.publish()
    machine = newest_machine(folder)
    parts = [
        heading(figures, machine),
        *tables.target_table(figures),
        *bounds.unmet(figures),
        *pictures(drawing.write_all(figures, f"{DOCS}/charts")),
        *tables.kinds(figures),
        *tables.sustained(figures),
        *tables.profile(figures),
        *tables.floors(figures),
        *tables.studies(figures),
        method.TEXT.strip(),
        *tables.failures(figures),
    ]
    with open(f"{DOCS}/Benchmarks.md", "w") as file:
        file.write("\n\n".join(parts) + "\n")
    print("bench: wrote Docs/Benchmarks.md", flush=True)


def newest_machine(folder):
    """What was noted of the machine that measured last, here or elsewhere."""
    published = f"{os.path.dirname(PUBLISHED)}/machine.json"
    if os.path.exists(f"{folder}/machine.json"):
        shutil.copyfile(f"{folder}/machine.json", published)
    with open(published) as file:
        return json.load(file)


def heading(figures, machine):
    loads = [cell["load"] for runs in figures.groups.values() for cell in runs.values()] or [0]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"# Benchmarks\n\nWritten by `Scripts/bench` from {len(loads)} measured cells; no figure is by hand.\n"
        f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, {machine['memory']} of memory, "
        f"{machine['kernel']}. {versions}.\nThe S3 server ran on the same cores. Before a cell the machine's load was "
        f"{statistics.median(loads):.1f} in the median, {max(loads):.1f} at most.{builds(figures)}{processors(figures)}"
    )


def processors(figures):
    """A warning when cells of several machines stand side by side: ratios are taken within one sitting, seconds are not."""
    found = collections.Counter(
        cell.get("processor") or "of which nothing was noted"
        for runs in figures.groups.values()
        for cell in runs.values()
    )
    if len(found) < 2:
        return ""
    told = ", ".join(f"{name} ({count})" for name, count in found.most_common())
    return f" **The cells are of {len(found)} machines**: {told}; seconds of different machines are not the same."


def builds(figures):
    """What was built of which commit; a warning when cells of several builds of Sealift stand side by side."""
    found = {}
    for (_, size, _, _), runs in figures.groups.items():
        for cell in runs.values():
            if "program" in cell:
                build = cell.get("commit") or f"{cell['program'][:8]}, of a commit that was not noted"
                found.setdefault(build, set()).add(f"{size}iB" if size != "0" else "start")
    if len(found) < 2:
        return "".join(f" Sealift's cells are of one build, {build}." for build in found)
    told = ", ".join(f"{build} ({', '.join(sorted(sizes))})" for build, sizes in found.items())
    return f" **Sealift's cells are of {len(found)} builds**: {told}."


def pictures(drawn):
    if drawn:
        yield "## Charts\n\n" + "\n\n".join(f"![{title}](charts/{name})" for name, title in drawn)
