#!/usr/bin/python3
"""README's sentences about speed: what stands between <!-- bench: speed --> and <!-- bench: end --> is of cells."""

import os, re, statistics

from figures import megabytes
from tables import FLOORS
from targets import ENOUGH

PLACE = re.compile(r"(?<=<!-- bench: speed -->).*?(?=<!-- bench: end -->)", re.DOTALL)


def write(figures, path):
    """Leaves the file as it is when it has no such place, or when a figure is missing; a first look is no figure."""
    said = sentences(figures)
    if not said or not os.path.exists(path):
        return
    with open(path) as file:
        text = file.read()
    new = PLACE.sub(lambda _: said, text)
    if new != text:
        with open(path, "w") as file:
            file.write(new)


def sentences(figures):
    sent = figures.median("oltp", "64M", "sealift/vacuum", "update1", "sent")
    ours, floors = (against_restic(figures, tool) for tool in ("sealift/{}".format, FLOORS.get))
    if sent is None or not ours or not floors:
        return None
    return (
        f"to 64 MiB of orders and items, a change of 1 % of the rows costs {megabytes(sent)}. A push takes "
        f"{span(ours)} of restic's time; SQLite's own copy and check, which others leave out, alone take {span(floors)} "
        "of it."
    )


def against_restic(figures, tool_of):
    """Medians of ratios within a run: both methods, first push and 1 % updates, each size of the OLTP database."""
    found = [
        figures.ratios("oltp", size, tool_of(method), "restic", what, "wall")
        for size in figures.sizes("oltp")
        for method in FLOORS
        for what in ("first", "update1")
    ]
    return [statistics.median(ratios) for ratios in found if len(ratios) >= ENOUGH]


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
