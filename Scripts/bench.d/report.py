#!/usr/bin/python3
"""Writes Docs/Benchmarks.md and its charts from the cells: every figure there comes from here."""
import collections, datetime, json, os, statistics, sys

import bounds, drawing, method, readme, tables
from figures import Figures, build_of, machine_of, plural
from results import Results

ROOT = os.path.realpath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")


def write(folder, root=ROOT):
    """Of the cells in the folder and of those that are kept in Docs/benchmarks; writes nothing unless there are any."""
    docs = f"{root}/Docs"
    results = Results(folder, published=f"{docs}/benchmarks/cells.jsonl")
    figures = Figures(results)
    machine = newest_machine(folder, docs)
    if not figures.groups or machine is None:
        sys.exit(
            f"bench: there is nothing to write a report of: neither {folder} nor {docs}/benchmarks has measured cells "
            "(*.jsonl) and the machine they are of (machine.json). Scripts/bench without --report measures."
        )
    results.publish()
    with open(f"{docs}/benchmarks/machine.json", "w") as file:
        json.dump(machine, file, indent=2)
    parts = [
        heading(figures, machine),
        *tables.target_table(figures),
        *bounds.unmet(figures),
        *pictures(drawing.write_all(figures, f"{docs}/charts")),
        *tables.kinds(figures),
        *tables.sustained(figures),
        *tables.chain(figures),
        *tables.profile(figures),
        *tables.floors(figures),
        *tables.studies(figures),
        method.text(figures),
        *tables.failures(figures),
    ]
    with open(f"{docs}/Benchmarks.md", "w") as file:
        file.write("\n\n".join(parts) + "\n")
    readme.write(figures, f"{root}/README.md")
    print("bench: wrote Docs/Benchmarks.md", flush=True)


def newest_machine(folder, docs):
    """What was noted of the machine that measured last, here or elsewhere; None where nothing was."""
    for path in (f"{folder}/machine.json", f"{docs}/benchmarks/machine.json"):
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)


def heading(figures, machine):
    loads = [cell["load"] for runs in figures.groups.values() for cell in runs.values()] or [0]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"# Benchmarks\n\nWritten by `Scripts/bench` from {len(loads)} measured cells; no figure is by hand.\n"
        f"Measured last on {machine['date']}: {machine['processor']}, {machine['cores']} cores, {machine['memory']} of "
        f"memory, {machine['kernel']}, with {versions}.\n"
        "The S3 server ran on the same cores. Before a cell the machine's load was "
        f"{statistics.median(loads):.1f} in the median, {max(loads):.1f} at most."
        f"{builds(figures)}{sittings(figures)}{nameless(figures)}"
    )


def sittings(figures):
    """On how many days of how many machines; a warning where there are several, because ratios are taken within one
    sitting, and seconds stand side by side.
    """
    found = collections.Counter(
        (machine_of(cell), day_of(cell))
        for runs in figures.groups.values()
        for cell in runs.values()
    )
    if len(found) < 2:
        return ""
    machines = {}
    for (machine, day), count in sorted(found.items()):
        machines.setdefault(machine, []).append(f"{day} ({count})")
    told = "; ".join(f"{machine}: {', '.join(days)}" for machine, days in machines.items())
    return (
        f" **The cells are of {len(found)} sittings (a day of a kind of machine each) on {plural(len(machines), 'kind')} of machine** "
        f"— {told} — and of bytes, memory and requests all count alike; ratios of times are taken within three hours "
        "of one machine, but seconds of different ones stand side by side."
    )


def nameless(figures):
    """A warning where a processor was noted by a name that is not its alone (see machine.processor)."""
    noted = [cell.get("processor") for runs in figures.groups.values() for cell in runs.values()]
    plain = collections.Counter(processor for processor in noted if processor and "(family" not in processor)
    if not plain:
        return ""
    told = ", ".join(f"{name} ({plural(count, 'cell')})" for name, count in sorted(plain.items()))
    return (
        f" Before its model was noted, a processor had only its name – {told} – which does not tell generations apart: "
        "cells under one name may be of several kinds of machine."
    )


def day_of(cell):
    if "at" not in cell:
        return "a day that was not noted"
    return datetime.datetime.fromtimestamp(cell["at"], datetime.timezone.utc).date().isoformat()


def builds(figures):
    """What was built of which commit; a warning when cells of several builds of Sealift stand side by side."""
    found = {}
    for (_, size, _, _), runs in figures.groups.items():
        for cell in runs.values():
            if build := build_of(cell):
                found.setdefault(build, set()).add(f"{size}iB" if size != "0" else "start")
    if len(found) < 2:
        return "".join(f" Sealift's cells are of one build, {build}." for build in found)
    told = ", ".join(f"{build} ({', '.join(sorted(sizes))})" for build, sizes in found.items())
    return f" **Sealift's cells are of {len(found)} builds**: {told}."


def pictures(drawn):
    if drawn:
        yield "## Charts\n\n" + "\n\n".join(f"![{title}](charts/{name})" for name, title in drawn)
