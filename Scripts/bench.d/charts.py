#!/usr/bin/python3
"""Charts as plain SVG text: no library, no style sheet, readable on light and dark pages."""

import math
from xml.sax.saxutils import escape

WIDTH, INK, GRID, PAPER = 860, "#333", "#ddd", "#fff"
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
COLOURS = {
    "sealift": "#0b6e4f",
    "restic": "#c8553d",
    "borg": "#e0a030",
    "duplicity": "#6a4c93",
    "litestream": "#1982c4",
    "rclone": "#8d99ae",
    "shell": "#b08968",
    "limit": "#999999",
    "zstd": "#999999",
}


def colour(tool):
    """By family; the second variant of one is lighter."""
    base = COLOURS.get(tool.split("/")[0], "#555555")
    second = tool.removesuffix("+key").endswith(("/pages", "/backup", "/once", "-backup"))
    return "#" + "".join(
        f"{(int(base[i:i + 2], 16) + 255) // 2 if second else int(base[i:i + 2], 16):02x}" for i in (1, 3, 5)
    )


def text(x, y, content, anchor="start", weight="normal"):
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} {FONT} fill="{INK}" font-weight="{weight}">{escape(content)}</text>'


def page(height, title, parts):
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
            f'aria-label="{escape(title)}">',
            f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
            text(16, 22, title, weight="bold"),
            *parts,
            "</svg>",
            "",
        ]
    )


def round_figure(shown):
    """10.0 kB → 10 kB, for the ticks of an axis."""
    number, unit = shown.split(" ")
    return f"{float(number):g} {unit}"


class Log:
    """A logarithmic axis from `low` to `high`, both whole powers of ten."""

    def __init__(self, values, start, end):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        if self.low == self.high:
            self.high += 1
        self.start, self.end = start, end

    def at(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0**power for power in range(self.low, self.high + 1)]


def bars(title, groups, show):
    """Horizontal bars on a logarithmic scale: groups = [(name, [(tool, value)])]."""
    values = [value for _, rows in groups for _, value in rows if value]
    if not values:
        return None
    left, right, y = 190, WIDTH - 90, 44
    axis, parts = Log(values, left, right), []
    height = y + sum(26 + 15 * len(rows) for _, rows in groups) + 30
    for tick in axis.ticks():
        parts.append(
            f'<line x1="{axis.at(tick):.1f}" y1="{y - 8}" x2="{axis.at(tick):.1f}" y2="{height - 24}" stroke="{GRID}"/>'
        )
        parts.append(text(axis.at(tick), height - 10, round_figure(show(tick)), "middle"))
    for name, rows in groups:
        parts.append(text(16, y + 10, name, weight="bold"))
        y += 18
        for tool, value in rows:
            if value:
                parts.append(
                    f'<rect x="{left}" y="{y}" width="{max(1, axis.at(value) - left):.1f}" height="12" '
                    f'fill="{colour(tool)}"/>'
                )
                parts.append(text(axis.at(value) + 5, y + 10, show(value)))
            parts.append(text(left - 8, y + 10, tool, "end"))
            y += 15
        y += 8
    return page(height, title, parts)


def lines(title, series, show_x, show_y, logarithmic_x=True):
    """One line for each tool: series = [(tool, [(x, y)])], y logarithmic; dashed for what opens by key file."""
    points = [(x, y) for _, found in series for x, y in found if y]
    if not points:
        return None
    left, right, top, bottom, height = 80, WIDTH - 200, 44, 380, 420
    up = Log([y for _, y in points], bottom, top)
    xs = sorted({x for x, _ in points})
    across = (
        (lambda x: left + (math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) if xs[-1] > xs[0] else 0.5) * (right - left))
        if logarithmic_x
        else (lambda x: left + (x - xs[0]) / max(1, xs[-1] - xs[0]) * (right - left))
    )
    parts = []
    for tick in up.ticks():
        parts.append(f'<line x1="{left}" y1="{up.at(tick):.1f}" x2="{right}" y2="{up.at(tick):.1f}" stroke="{GRID}"/>')
        parts.append(text(left - 8, up.at(tick) + 4, round_figure(show_y(tick)), "end"))
    for x in xs if logarithmic_x else range(0, xs[-1] + 1, 20):
        if x >= xs[0] or not logarithmic_x:
            parts.append(text(across(max(x, xs[0])), bottom + 20, show_x(x), "middle"))
    for place, (tool, found) in enumerate(series):
        path = " ".join(f"{across(x):.1f},{up.at(y):.1f}" for x, y in found if y)
        dashes = ' stroke-dasharray="6 4"' if tool.endswith("+key") else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(tool)}" stroke-width="2"{dashes}/>')
        if logarithmic_x:
            parts += [
                f'<circle cx="{across(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{colour(tool)}"/>' for x, y in found if y
            ]
        parts.append(f'<rect x="{right + 16}" y="{top + 18 * place}" width="12" height="12" fill="{colour(tool)}"/>')
        parts.append(text(right + 34, top + 10 + 18 * place, tool))
    return page(height, title, parts)
