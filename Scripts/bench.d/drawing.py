#!/usr/bin/python3
"""Which charts there are, and what is in them."""

import os

import charts, targets
from figures import in_bytes, megabytes, seconds
from tables import FAMILIES, measured, word

BY_KEY_FILE = [f"sealift/{method}+key" for method in targets.METHODS]


def write_all(figures, folder):
    """Writes the charts that there are figures for, and removes those of before: (file name, title) of each."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    drawn = []
    for name, title, picture in [*of_kinds(figures), *of_series(figures)]:
        if picture:
            drawn.append((f"{name}.svg", title))
            with open(f"{folder}/{name}.svg", "w") as file:
                file.write(picture)
    return drawn


def of_kinds(figures):
    for kind in figures.kinds():
        size = figures.sizes(kind)[-1]
        tools = measured(figures, kind, size, [*FAMILIES, "limit/patch", "limit/pagelevel"])
        groups = [
            (word(what), [(tool, figures.median(kind, size, tool, what, "sent")) for tool in tools])
            for what in ("first", *targets.CHANGES)
        ]
        title = f"Bytes sent, {kind}, {size}iB (logarithmic)"
        yield f"bytes-{kind}", title, charts.bars(title, groups, megabytes)
        for what in ("first", "update1"):
            title = f"Time of a push, {word(what)}, {kind}, against the size of the database (both logarithmic)"
            series = list(by_size(figures, kind, what))
            yield f"time-{kind}-{what}", title, charts.lines(title, series, size_in_words, seconds)


def by_size(figures, kind, what):
    """What opens by key file has a line of its own where it alone was measured on more than 1 GiB."""
    for tool in [*FAMILIES, *BY_KEY_FILE]:
        sizes = figures.sizes_of(kind, tool, what)
        points = [(in_bytes(size), figures.median(kind, size, tool, what, "wall")) for size in sizes]
        points = [(size, wall) for size, wall in points if wall]
        if points and (tool in FAMILIES or points[-1][0] > 1 << 30):
            yield tool, points


def size_in_words(size):
    return f"{size >> 30} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def of_series(figures):
    tools = ("sealift/vacuum", "sealift/pages", "restic/vacuum", "duplicity/backup", "limit/pagelevel")
    for size in targets.series_sizes(figures):
        for name, words in targets.SERIES.items():
            found = [(tool, list(enumerate(targets.series(figures, size, tool, name), 1))) for tool in tools]
            title = f"Bytes of each of many pushes, {words}, {size_in_words(in_bytes(size))} OLTP (logarithmic)"
            picture = charts.lines(title, [one for one in found if one[1]], str, megabytes, logarithmic_x=False)
            yield f"sustained-{name}-{size}", title, picture
