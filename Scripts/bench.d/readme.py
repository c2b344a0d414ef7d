#!/usr/bin/python3
"""README's figures: what stands between <!-- bench: speed --> and <!-- bench: end -->, after <!-- bench: methods -->, and
after <!-- bench: levels -->, is of cells.
"""

import os, re, statistics

from figures import machines_of, megabytes, tells
from studies import levels
from tables import FLOORS, table
from targets import CHANGES, ENOUGH, METHODS

PUSHED = {"oltp": "orders with eight indexes", "blobs": "random blobs"}
CALLED = {"oltp": "orders", "blobs": "random files", "mail": "mail with full-text search", "events": "events of devices"}
"""A reader does not know the names that the cells give to kinds of data."""


def write(figures, path):
    """Leaves a place as it is when it is not there, or when a figure is missing; a first look is no figure."""
    if not os.path.exists(path):
        return
    with open(path) as file:
        text = new = file.read()
    places = {"speed": sentences(figures), "methods": methods(figures), "levels": levels_table(figures)}
    for place, said in places.items():
        if said:
            new = re.sub(rf"(?<=<!-- bench: {place} -->).*?(?=<!-- bench: end -->)", lambda _: said, new, flags=re.DOTALL)
    if new != text:
        with open(path, "w") as file:
            file.write(new)


def sentences(figures):
    sent = figures.median("oltp", "64M", "sealift/vacuum", "update1", "sent")
    found, floors = pushes_against_restic(figures), floors_against_restic(figures)
    if sent is None or "oltp" not in found or not floors:
        return None
    ours = {kind: [statistics.median(ratios) for ratios in pushes] for kind, pushes in found.items()}
    return (
        f"to 64 MiB of orders and items, a change of 1 % of the rows costs {megabytes(sent)}. A push takes "
        f"{span(ours['oltp'])} of restic's time with orders, and {span(sum(ours.values(), []))} over all kinds of "
        f"data, sizes and changes that were measured{on_few_runs(found)}{slower(ours)}. Both times count the copy that "
        "SQLite makes. Sealift also has SQLite check it, restic's is checked by nobody: copy and check by the "
        f"`sqlite3` program take {span(floors)} of restic's time (orders; first push and 1 % updates)."
    )


def methods(figures):
    """Where one method sends less, and where the other. None, and a warning, when it is not so: then README needs another
    example.
    """
    sent = {
        (method, what): figures.median("oltp", "1G", f"sealift/{method}", what, "sent")
        for what in ("update0.1", "delete30")
        for method in METHODS
    }
    if None in sent.values():
        return None
    if sent["pages", "update0.1"] >= sent["vacuum", "update0.1"] or sent["pages", "delete30"] <= sent["vacuum", "delete30"]:
        print("bench: README says when pages send less and when more, which no cell shows any more", flush=True)
        return None
    told = {of: megabytes(value) for of, value in sent.items()}
    return (
        f"0.1 % of the rows of 1 GiB of orders cost {told['pages', 'update0.1']}, and {told['vacuum', 'update0.1']} vacuumed. "
        f"Where much changes it sends more: {told['pages', 'delete30']} against {told['vacuum', 'delete30']} after 30 % were "
        "deleted"
    )


def pushes_against_restic(figures):
    """Kind → ratios within a run, push by push: each size, both methods, first push and every change, however often
    they were measured.
    """
    found = {}
    for kind in figures.kinds():
        for size in figures.sizes(kind):
            for method in FLOORS:
                for what in ("first", *CHANGES):
                    if ratios := figures.ratios(kind, size, f"sealift/{method}", "restic", what, "wall"):
                        found.setdefault(kind, []).append(ratios)
    return found


def on_few_runs(found):
    pushes = sum(found.values(), [])
    few = sum(len(ratios) < ENOUGH for ratios in pushes)
    return f" ({few} of {len(pushes)} in fewer than {ENOUGH} runs)" if few else ""


def slower(ours):
    """Names the kinds for which some push took longer than restic's."""
    worst = {kind: max(values) for kind, values in ours.items() if max(values) > 1}
    told = [f"{CALLED[kind]} (up to {worst[kind]:.2f})" for kind in sorted(worst, key=worst.get, reverse=True)]
    return f": longer than restic with {listed(told)}" if told else ""


def listed(words):
    """["a", "b", "c"] → a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def floors_against_restic(figures):
    """Of both methods, first push and 1 % updates, each size of the OLTP database; of enough runs."""
    found = [
        figures.ratios("oltp", size, tool, "restic", what, "wall")
        for size in figures.sizes("oltp")
        for tool in FLOORS.values()
        for what in ("first", "update1")
    ]
    return [statistics.median(ratios) for ratios in found if len(ratios) >= ENOUGH]


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


def levels_table(figures):
    """What each of zstd's levels sends, and its CPU time; None unless all were measured often enough to tell."""
    rows, cells = [], []
    for kind, size in levels.DATABASES:
        found = [list(figures.runs(kind, size, levels.Leveled.name, levels.cell(level)).values()) for level in levels.LEVELS]
        found = [[cell for cell in one if tells(cell, "cpu")] for one in found]
        if min(map(len, found)) < ENOUGH:
            return None
        database, cells = found[0][0]["database"], cells + sum(found, [])
        for metric, words, show in (("sent", "sent", megabytes), ("cpu", "CPU", "{:.1f} s".format)):
            middle = [show(statistics.median(cell[metric] for cell in one)) for one in found]
            rows.append([f"{megabytes(database)} of {PUSHED[kind]}: {words}", *map(in_bold, levels.LEVELS, middle)])
    return (
        "\n`compression` is zstd's level. What a first push sends, and seconds of CPU of the whole program, opened by a key "
        f"file (medians of at least {ENOUGH} runs on {machines_of(cells)}):\n\n"
        + table(["level", *(in_bold(level, str(level)) for level in levels.LEVELS)], rows)
        + "\n\nWhat does not shrink (photos, encrypted columns) is stored as it is, at any level.\n"
    )


def in_bold(level, shown):
    return f"**{shown}**" if level == levels.DEFAULT else shown
