#!/usr/bin/python3
"""Does the measurement measure? Each check gives it something whose size is known. Takes some seconds, and root.

With --quick what needs root or watches the clock is left out: that is what the tests run.
"""

import contextlib, importlib.util, io, json, os, re, shutil, socket, sqlite3, sys, tempfile, threading, time
from unittest import mock

import bench, bounds, databases, kinds, measure, method, readme, report, story, tables, targets
from figures import Figures, mebibytes, megabytes, seconds
from results import Results, is_ours
from room import Room, Wire
from studies import levels, matrix

MIB = 1 << 20


def check(what, low, value, high):
    good = low <= value <= high
    print(f"{'ok   ' if good else 'WRONG'} {what}: {value:,.3f} (expected {low:,.3f} to {high:,.3f})")
    return good


def of_memory(folder):
    """A grandchild takes 100 MiB for a moment, and another reads a file of 60 MiB that must not count; nor must what the
    measuring process has itself."""
    held = bytearray(b"x") * (400 * MIB)
    program = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', "
        f"'import time; kept = bytearray(b\"x\") * {100 * MIB}; time.sleep(0.2)']); "
        f"import mmap; file = open('{folder}/mapped', 'w+b'); file.truncate({60 * MIB}); "
        f"memory = mmap.mmap(file.fileno(), 0); sum(memory[::4096]); import time; time.sleep(0.1)"
    )
    usage = measure.run([sys.executable, "-c", program], dict(os.environ), folder, f"{folder}/log")
    del held
    return check("peak of anonymous memory, MiB", 100, usage.anonymous / MIB, 140) & check(
        "resident size of the greatest process, MiB", 100, usage.resident / MIB, 140
    )


def of_cpu(folder):
    """Half a second in a grandchild that its parent awaits, half a second in an orphan."""
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    program = (
        f"import os, subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {busy!r}])\n"
        f"if os.fork() == 0:\n  if os.fork() == 0:\n    while time.process_time() < 0.5: pass\n"
        f"  os._exit(0)\nos.wait()\ntime.sleep(3)"
    )
    usage = measure.run([sys.executable, "-c", program], dict(os.environ), folder, f"{folder}/log")
    return check("CPU seconds of grandchild and orphan", 0.95, usage.cpu, 1.5)


def of_wire(folder):
    """A client sends 50 MiB, hears 3 MiB, and says nothing for the rest."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        peer, _ = server.accept()
        with peer:
            while peer.recv(1 << 20):
                pass
            peer.sendall(bytes(3 * MIB))

    threading.Thread(target=answer, daemon=True).start()
    wire = Wire({"endpoint": f"http://127.0.0.1:{server.getsockname()[1]}"}, folder)
    with socket.create_connection(server.getsockname()) as client:
        client.sendall(bytes(50 * MIB))
        time.sleep(0.2)
        sent_while_open, _ = wire.bytes()
        client.shutdown(socket.SHUT_WR)
        heard = 0
        while part := client.recv(1 << 20):
            heard += len(part)
    time.sleep(0.2)
    sent, received = wire.bytes()
    return (
        check("bytes sent, while the connection lives", 50 * MIB, sent_while_open, 50 * MIB)
        & check("bytes sent", 50 * MIB, sent, 50 * MIB)
        & check("bytes received", heard, received, 3 * MIB)
    )


def of_databases(folder):
    """The same call makes the same file; a restored copy of another layout is known again, a changed one is not."""
    good = True
    for kind in kinds.KINDS:
        paths = [f"{folder}/{kind}{copy}.db" for copy in (1, 2)]
        for path in paths:
            databases.make(kind, 2 * MIB, path)
            databases.change(kind, "schema", 3, path)
        first, second = (open(path, "rb").read() for path in paths)
        databases.change(kind, "vacuum", 0, paths[1])
        same = databases.digest(paths[0]) == databases.digest(paths[1])
        databases.change(kind, "onepage", 1, paths[1])
        other = databases.digest(paths[0]) != databases.digest(paths[1])
        good &= check(f"{kind}: same bytes, same rows, other rows", 3, (first == second) + same + other, 3)
    return good


def of_figures(_):
    """The better variant counts, run by run."""
    cells = [
        {"kind": "oltp", "size": "1M", "tool": tool, "what": "first", "run": run, "ok": True, "sent": sent}
        for tool, sizes in {"a/x": (10, 40), "a/y": (20, 30), "b": (5, 5)}.items()
        for run, sent in enumerate(sizes, 1)
    ]
    return check("median of ratios", 4, Figures(cells).ratio("oltp", "1M", "a", "b", "first", "sent"), 4)


def of_series(_):
    """Each run has its dear pushes where they fall: a median of runs, push by push, would lose them. One that was cut does
    not count.
    """
    ours = {1: (90, 1, 1), 2: (1, 62, 1), 3: (1, 1)}
    sent = {"sealift/vacuum": ours, "limit/pagelevel": dict.fromkeys(ours, (100,) * 3)}
    cells = [
        {"kind": "oltp", "size": "64M", "tool": tool, "what": f"mixed-{number:03}", "run": run, "ok": True, "sent": one}
        for tool, runs in sent.items()
        for run, pushes in runs.items()
        for number, one in enumerate(pushes, 1)
    ]
    with mock.patch.object(targets, "LENGTH", 3):
        (row,) = (row for row in targets.sustained(Figures(cells), "64M") if "mixed" in row.what and "of vacuumed" in row.what)
    return check("mean of a series", 1, (row.measured, row.runs, row.verdict) == ("0.26 ×", 2, False), 1)


def of_cut_series(_):
    """One that was cut before the pushes that its target names gets no verdict, in any of its rows, and no larger one
    stands for it; of a database that was pushed, and of which nothing else can be told, that is told.
    """
    cell = {"kind": "oltp", "size": "1G", "tool": "sealift/vacuum", "run": 1, "ok": True, "sent": 1, "stored": 1, "load": 0}
    numbered = [{"what": f"update1-{at:03}"} for at in range(41)]
    more = [{"what": "update1-needs", "fetched": [1]}, {"what": "update1-onepage"}]
    more += [{"what": f"update1-any{at:03}", "wall": 1.0, "disturbed": True} for at in (0, 10)]
    cells = [cell | one for one in numbered + more] + [cell | one | {"tool": "limit/pagelevel", "sent": 9} for one in numbered]
    cells += [one | {"size": "64M"} for one in cells[:2]]
    told = {}
    for length in (41, 40):
        with mock.patch.object(targets, "LENGTH", length):
            figures = Figures(cells)
            rows = [*targets.standing(figures, targets.sustained), *targets.standing(figures, targets.restores_of_series)]
            rows = [row for row in rows if row.series == ("1G", "update1")]
            told[length] = [(row.measured, tables.verdict(row)) for row in rows]
            named = all(f"of {length} succ" in row.what for row in rows if "succ" in row.what)
    unknown = ("–", "not measured")
    cut = [(value, "measured so far: 40 of 41") for value in ("1/9", "1.00 ×", "1 B")]
    done = [(value, "met (1 of 5)") for value in ("1/9", "1.00 ×", "1 B")]
    good = [told[41], told[40]] == [[one[0], unknown, unknown, *one[1:], unknown] for one in (cut, done)]
    return check(f"series that were cut {'' if good else told}", 1, good and named, 1)


def of_copies(_):
    """Of each series its own tools and copies, and of a target in how many runs the other copy is missing."""
    cell = {"kind": "oltp", "size": "64M", "ok": True, "sent": 1}
    tools = {"sealift/vacuum": (1, 2), "restic/vacuum": (1, 2), "restic/backup": (2,), "duplicity/backup": (1,)}
    cells = [cell | {"tool": tool, "what": "update1-001", "run": run} for tool, runs in tools.items() for run in runs]
    cells += [cell | {"tool": tool, "what": "mixed-001", "run": 1} for tool in ("sealift/vacuum", "restic/vacuum")]
    figures = Figures(cells)
    rows = [row.what.partition("restic")[2] for row in targets.sustained(figures, "64M") if "restic" in row.what]
    told = method.series(figures) == (
        "mixed changes at 64MiB, of Sealift and restic (copied by `VACUUM INTO` alone); "
        "1 % updates alone at 64MiB, of Sealift, restic and duplicity (copied by `.backup` alone)"
    )
    wanted = [" (copied by `VACUUM INTO` alone)", " (copied by `VACUUM INTO` alone in 1 of 2 runs)"]
    return check(f"copies of series {rows}", 1, rows == wanted and told, 1)


def of_sizes(_):
    """A series of a larger database stands beside that of a smaller one, and in its place once it is complete; cells of
    both are not mixed. Of a rival that was pushed less often there are fewer pushes, of Sealift all.
    """
    found = []
    for large in (1, targets.ENOUGH):
        sent = {
            ("64M", "sealift/vacuum", targets.ENOUGH): (10, 10, 70),
            ("64M", "restic/vacuum", targets.ENOUGH): (100, 100, 100),
            ("1G", "sealift/vacuum", large): (20, 20, 80),
            ("1G", "restic/vacuum", large): (100, 100) if large == 1 else (100, 100, 100),
        }
        cells = [
            {"kind": "oltp", "size": size, "tool": tool, "what": f"mixed-{at:03}", "run": run, "ok": True, "sent": one}
            for (size, tool, runs), pushes in sent.items()
            for run in range(1, runs + 1)
            for at, one in enumerate(pushes, 1)
        ]
        figures = Figures(cells)
        with mock.patch.object(targets, "LENGTH", 3):
            rows = [*targets.standing(figures, targets.sustained), *targets.outdone(figures, "64M")]
        found += [(row.series[0], row.pushes, row.measured) for row in rows if "mixed" in row.what and "restic" in row.what]
    small = ("64M", 3, "0.30 ×")
    known = [bench.parse(["--out", "", *more]) for more in ((), ("--size", "1G"))]
    asked = [(one.size, one.series_size) for one in known] == [(["64M", "1G"], ["64M"]), (["1G"], ["1G"])]
    good = found == [small, ("1G", 2, "0.40 ×"), ("1G", 3, "0.40 ×"), small]
    return check("series of two sizes", 1, good and asked, 1)


def of_levels(folder):
    """The level that is named is what is pushed with: by a name that nothing but its configuration knows."""
    steps, room = [], mock.Mock(folder=folder, live=f"{folder}/app.db", programs="")
    room.step = lambda command, _: steps.append(command)
    levels.Leveled(room).push_at(19)
    configuration = steps[0][steps[0].index("--config") + 1]
    with open(configuration) as file:
        written = json.load(file)["databases"]["app"]
    good = written == {"path": room.live, "compression": 19} and steps[0][-2:] == ["push", "app"]
    return check("levels that are pushed with", 1, good, 1)


def of_results(folder):
    """A cell counts once; one that failed, whose time says nothing, or of another build of Sealift, is wanted again."""
    old, cell = Results(folder, "one", published=None), {"kind": "oltp", "size": "1M", "what": "first", "run": 1, "wall": 1.0}
    tools = {"sealift/pages": (True, 0), "restic/vacuum": (True, 0), "shell": (False, 0), "rclone/backup": (True, 99)}
    for tool, (ok, load) in tools.items():
        old.add(cell | {"tool": tool, "ok": ok, "load": load})
    same, other = Results(folder, "one", published=None), Results(folder, "two", published=None)
    known = [[results.has("oltp", "1M", tool, "first", 1) for tool in tools] for results in (same, other)]
    expected = [[True, True, False, False], [False, True, False, False]]
    return check("cells known to the same build and to another", 1, known == expected, 1)


def of_cores(folder):
    """What a cell's time says does not depend on the machine that the report is written on."""
    loads = {(4, None): True, (5, None): False, (5, 4): True, (7, 4): False, (7, 64): True}
    cells = [{"load": load, "wall": 1.0} | ({"cores": cores} if cores else {}) for load, cores in loads]
    source = importlib.util.spec_from_file_location("figures_elsewhere", sys.modules["figures"].__file__)
    os.makedirs(f"{folder}/cores")
    elsewhere, known = importlib.util.module_from_spec(source), Results(f"{folder}/cores", published=None)
    with mock.patch("os.cpu_count", return_value=64):
        source.loader.exec_module(elsewhere)
        told = [elsewhere.tells(cell, "wall") for cell in cells]
        for run, cell in enumerate(cells):
            known.add(cell | {"kind": "oltp", "size": "1K", "tool": "shell", "what": "first", "run": run, "ok": True})
        had = [known.has("oltp", "1K", "shell", "first", run) for run in range(len(cells))]
    return check("cells whose times count on 64 cores", 1, told == had == list(loads.values()), 1)


def of_folders(folder):
    """What a cell tells of a failure is published: without folders of this machine, and all else as it was."""
    results, cell = Results(folder, published=None), {"kind": "oltp", "size": "1M", "what": "first", "run": 1, "ok": False}
    said = {
        f"No such file or directory: '{folder}/rooms/one'": "No such file or directory: '…/one'",
        "s3://bucket/a/b answered 4/5 of 10 MB/s": "s3://bucket/a/b answered 4/5 of 10 MB/s",
        "one/two: /a.db is locked": "one/two: /a.db is locked",
    }
    for error in said:
        results.add(cell | {"tool": error, "error": error})
    found = {one["tool"]: one["error"] for one in Results(folder, published=None) if one["tool"] in said}
    return check("failures told without folders", 1, found == said, 1)


def of_rooms(folder):
    """Two that measure the same at once would clear each other's room away."""
    wire, bucket = type("Wire", (), {"freed": lambda *_: 0})(), type("Bucket", (), {"listing": lambda *_: {}})()
    first = Room(f"{folder}/rooms/one", wire, bucket, "one", "")
    refused = 0
    try:
        Room(f"{folder}/rooms/one", wire, bucket, "one", "")
    except SystemExit:
        refused = os.path.exists(first.live[: -len("/app.db")])
    first.leave()
    Room(f"{folder}/rooms/one", wire, bucket, "one", "").leave()
    return check("rooms that two would have had", 1, refused, 1)


def of_counts(folder):
    """A cell fails that was counted less than the bucket grew by since the first push of its story; not one of another
    day, nor of a tool that begins anew.
    """
    cell = {"kind": "oltp", "size": "1M", "run": 1, "ok": True, "requests": 4, "at": 0}
    place = f"{folder}/counted"
    os.makedirs(place)
    changes = [("a", 30, 60), ("b", 29, 60), ("c", 29, 90_000), ("litestream/once", 29, 60), ("d", 0, 60)]
    with open(f"{place}/results.jsonl", "w") as file:
        for tool, sent, at in changes:
            first = cell | {"tool": tool, "what": "first", "sent": 100, "stored": 100}
            change = cell | {"tool": tool, "what": "update1", "sent": sent, "stored": 130 if sent else 90, "at": at}
            file.writelines(json.dumps(one) + "\n" for one in (first, change))
    failed = {cell["tool"] for cell in Results(place, published=None) if not cell["ok"]}
    return check("cells that lack bytes", 1, failed == {"b", "d"}, 1)


def of_sittings(_):
    """Times of another day or machine are not compared; bytes are. Nor is a tool whose other variant's time says
    nothing.
    """
    cell = {"kind": "oltp", "size": "1M", "what": "first", "ok": True, "load": 0, "sent": 6, "wall": 6.0}
    cells = [
        cell | {"tool": tool, "run": run, "at": at, "load": load}
        for tool, run, at, load in (
            *(("a", run, 0, 0) for run in (1, 2, 3, 4)),
            *(("b/x", run, at, 0) for run, at in ((1, 60), (2, 60), (3, 90_000))),
            ("b/y", 2, 60, 99),
        )
    ]
    cells[3]["processor"] = "one"
    cells.append(cell | {"tool": "b/x", "run": 4, "at": 60, "processor": "another"})
    figures = Figures(cells)
    found = [len(figures.ratios("oltp", "1M", "a", "b", "first", metric)) for metric in ("sent", "wall")]
    return check("ratios of bytes and of times", 41, found[0] * 10 + found[1], 41)


def of_restores(_):
    """A restore after a change needs that change's push, known or not; who cannot restore is asked for none."""
    pushed = matrix.changes_of(["first", "restore", "update1", "append1", "restore-update1"])
    alone = matrix.changes_of(["restore-update1"])
    names = {tool.name: tool for tool in bench.all_tools()}
    options = bench.parse(["--out", ""])
    nothing = type("Bench", (), {"options": options, "results": Results("", published=None)})
    wanted = {name: matrix.wanted(nothing, tool, "oltp", "1M", 1) for name, tool in names.items()}
    asked = sorted(name for name, cells in wanted.items() if "restore-update1" in cells)
    expected = sorted(name for name in names if not name.startswith("limit/"))
    good = (pushed, alone, asked) == (["update1", "append1"], ["update1"], expected)
    return check("restores after a change", 1, good, 1)


def of_disk(folder):
    """What lies there when the steps have ended counts, however short they were: the copy too, and not what was there."""
    room = mock.Mock(folder=folder, spaces=[f"{folder}/disk"], copy=f"{folder}/disk/copy", live=f"{folder}/none", computed=None)
    room.stored.return_value = 0
    wire = mock.Mock(**{"bytes.return_value": (0, 0), "log_size.return_value": 0, "requests.return_value": {}})
    told, found = story.Story.__new__(story.Story), []
    told.bench, told.room, told.tool = mock.Mock(wire=wire, out=folder), room, mock.Mock(hides=False)
    told.kind, told.size, told.run, told.tool.name = "oltp", "1M", 1, "restic/vacuum"
    told.bench.results.add = found.append
    os.makedirs(f"{folder}/disk")
    sizes = {"disk/before": 1, "disk/kept": 2, "disk/copy": 4}

    def write(*names):
        for name in names:
            with open(f"{folder}/{name}", "wb") as file:
                file.write(b"x" * (sizes[name] * MIB))

    write("disk/before")
    with contextlib.redirect_stdout(io.StringIO()), mock.patch.object(story, "PATIENCE", 0):
        told.cell("first", lambda: write("disk/kept", "disk/copy"))
    new = tuple(round(found[0][name] / MIB) for name in ("disk", "had", "kept"))
    old = {"kind": "oltp", "size": "1M", "tool": "a", "run": 1, "ok": True, "disk": 5, "kept": 9}
    cells = [old | {"what": "first"}, old | {"what": "update1"}, old | {"what": "first", "run": 2, "had": 3}]
    raised = [Figures(cells).values("oltp", "1M", "a", what, "disk") for what in ("first", "update1")]
    return check(f"peaks of disk {new}", 1, new == (6, 1, 3), 1) & check(f"those of older cells {raised}", 1, raised == [[9, 6], [5]], 1)


def of_verdicts(_):
    """Every target has a reason for the day when it is not met, also where nothing was measured; of cells, where there are any.
    """
    size, rows = targets.rows(Figures([]))
    reasons = [bounds.reason(Figures([]), size, row) for row in rows]
    told = [bounds.reason(Figures(list(cells_of_all())), size, row) for row in rows]
    of_cells = [why for why in told if why and "no cell tells more of it" not in why]
    return check("targets that say why", len(rows), sum(map(bool, reasons)), len(rows)) & check(
        "targets that say why by cells", len(rows), len(of_cells), len(rows)
    )


def of_builds(_):
    """What one build sends more than another is no chance, and is told of the rows that it is in."""
    cell = {"kind": "oltp", "size": "64M", "what": "update1", "ok": True, "load": 0, "at": 60}
    sent = {"old": (200, 200, 204), "new": (100,)}
    cells = [cell | {"tool": "restic/vacuum", "run": run, "sent": 9000 * run} for run in (1, 2, 3, 4)]
    cells += [one | {"tool": "restic/backup"} for one in cells]
    runs = enumerate(((build, one) for build, pushes in sent.items() for one in pushes), 1)
    cells += [cell | {"tool": "sealift/vacuum", "run": run, "sent": one, "program": build} for run, (build, one) in runs]
    figures = Figures(cells)
    spread = {tool: round(groups[-1][0], 3) for tool, groups in figures.spreads("sent", ["update1"]).items()}
    told = {row.what: tables.runs_of(row) for row in targets.changes(figures, "64M")}
    of_one = {row.what: tables.runs_of(row) for row in targets.changes(Figures(cells[:-1]), "64M")}
    title = "bytes sent after 1 % updates, against restic"
    good = spread == {"sealift/vacuum": 1.02, "restic": 4} and (told[title], of_one[title]) == ("4, 2 builds", "3")
    said = "2 builds: new, of a commit that was not noted, old, of" in tables.builds_of(cells) and not tables.builds_of(cells[:-1])
    return check(f"figures of several builds {spread}", 1, good and said, 1)


def of_narrow_verdicts(_):
    """What misses its limit by little is not shown as its limit."""
    missed, met = (targets.at_most("", 1.0, value) for value in (1.0004, 1.0))
    cases = {
        "a ratio": (missed.measured, "1.0004 ×"),
        "one that is met": (met.measured, "1.00 ×"),
        "a part": (targets.at_most("", 1 / 7, 1 / 6.98).measured, "1/6.98"),
        "at least": (targets.at_least("", 0.6, 0.5996).measured, "0.5996 ×"),
        "bytes": (targets.at_most("", 64 << 10, 65537, show=megabytes).measured, "65.537 kB"),
        "memory": (targets.at_most("", 96 << 20, (96 << 20) + 40000, show=mebibytes).measured, "96.04 MiB"),
        "time": (targets.at_most("", 1.5, 1.5006, show=seconds).measured, "1.501 s"),
    }
    wrong = {name: found for name, (found, wanted) in cases.items() if found != wanted}
    return check(f"figures that are shown as their limits {wrong}", 0, len(wrong), 0)


def cells_of_all(run=1):
    """One cell of everything that is measured, made up, with so little or so much that no target is met."""
    size = {"oltp": ["64M", "1G"], "events": ["64M"], "mail": ["64M"], "blobs": ["64M"]}
    tools, keyed = [tool.name for tool in bench.all_tools()], ["sealift/vacuum+key", "sealift/pages+key"]
    series = [
        *(f"{name}-{number:03}" for name in targets.SERIES for number in range(targets.LENGTH + 1)),
        *(f"{name}-{what}" for name in targets.SERIES for what in ("any000", "any010", "restore030", "needs", "onepage")),
    ]
    wanted = [
        *((kind, of, tool, what) for kind in size for of in size[kind] for tool in tools for what in bench.CELLS),
        *(("oltp", "64M", tool, "chain-restore") for tool in tools),
        *(("oltp", "64M", tool, what) for tool in targets.SUSTAINED for what in series),
        *(("oltp", of, tool, what) for of in ("64M", "1G", "10G") for tool in keyed for what in targets.ALIKE),
        *(("oltp", "10G", tool, what) for tool in keyed for what in ("onepage", "unchanged")),
        *(("oltp", "1G", "sealift/pages+key", what) for what in ("seal", "unseal")),
        *(("oltp", "1G", "zstd", what) for what in ("copy", "zstd", "unzstd")),
        *(("oltp", "1G", "sealift/vacuum+profile", what) for what in targets.ALIKE),
        *(("events", "1M", "sealift/pages", f"list-{what}") for what in ("cold", "cold-key", "warm", "warm-key")),
        *((*one, levels.Leveled.name, levels.cell(level)) for one in levels.DATABASES for level in levels.LEVELS),
        *(("none", "0", tool, "start") for tool in ("sealift/vacuum", "curl")),
    ]
    for place, (kind, of, tool, what) in enumerate(wanted):
        large = 100 if of == "10G" or what == "list-warm" else 10 if is_ours(tool) and not what.endswith("000") else 1
        yield {
            **{"kind": kind, "size": of, "tool": tool, "what": what, "run": run, "ok": True},
            **{"load": 0, "at": 60 + place, "processor": "made up"},
            **{"wall": large * 1.0, "cpu": large * 1.0, "busy": large * 1.0, "copy": 0.5, "versions": 1000},
            **dict.fromkeys(("anonymous", "resident", "disk", "kept"), large * 20 * MIB),
            **dict.fromkeys(("sent", "received", "stored"), large * 20 * MIB),
            **{"requests": large, "methods": {"PUT": large}, "database": 50 * MIB},
            **({"fetched": [large * 60 * MIB]} if what.endswith("-needs") else {}),
            **({"shares": {"zstd": 0.5, "SQLite": 0.5}} if tool.endswith("+profile") else {}),
        }


def of_report(folder):
    """A clean clone gets nothing but a refusal; of one cell of each kind every part of the report is made."""
    root = f"{folder}/clone"
    os.makedirs(f"{root}/Docs")
    try:
        report.write(f"{folder}/nothing", root)
        refused = False
    except SystemExit as refusal:
        refused = "nothing to write a report of" in str(refusal)
    untouched = os.listdir(f"{root}/Docs") == [] and not os.path.exists(f"{folder}/nothing")
    os.makedirs(f"{folder}/measured")
    with open(f"{folder}/measured/results.jsonl", "w") as file:
        file.writelines(json.dumps(cell) + "\n" for cell in cells_of_all())
    with open(f"{folder}/measured/machine.json", "w") as file:
        json.dump({"versions": {}} | dict.fromkeys(("date", "processor", "cores", "memory", "kernel"), "made up"), file)
    with contextlib.redirect_stdout(io.StringIO()):
        report.write(f"{folder}/measured", root)
    with open(f"{root}/Docs/Benchmarks.md") as file:
        text = file.read()
    if kept := os.environ.get("SEALIFT_SELFTEST_REPORT"):
        shutil.copytree(root, kept, dirs_exist_ok=True)
    parts = ("Restore at the end of a chain", "restore after 1 % updates", "first push, resident")
    parts += ("**not met** (1 of 5)", "mixed changes, 64MiB, against restic", "Measured on made up, 2 cores.")
    return check("a clean clone is refused, and left as it was", 1, refused and untouched, 1) & check(
        "parts of a report", len(parts), sum(part in text for part in parts), len(parts)
    )


def of_readme(folder):
    """Its sentences are written anew of enough runs, of fewer not, and nothing around them is touched."""
    path, before, found = f"{folder}/README.md", "a <!-- bench: speed -->", []
    after = "<!-- bench: end --> c <!-- bench: levels -->d<!-- bench: end --> e"
    with open(path, "w") as file:
        file.write(f"{before}b{after}")
    for count in (targets.ENOUGH - 1, targets.ENOUGH):
        with contextlib.redirect_stdout(io.StringIO()):
            readme.write(Figures([cell for run in range(1, count + 1) for cell in cells_of_all(run)]), path)
        with open(path) as file:
            found.append(file.read().removeprefix(before))
    said = r"to 64 MiB [^<>]* costs 210 MB\. A push takes 10\.00 to 10\.00 [^<>]*"
    said += r" restic with orders \(up to 10\.00\), [^<>]* and random files \([^<>]* take 1\.00 to 1\.00 [^<>]*"
    said += r" \(orders; first push and 1 % updates\)\."
    said += r"<!-- bench: end --> c <!-- bench: levels -->\n[^<>]* at least 5 runs on made up, 2 cores\):\n\n"
    said += r"\| level \| 0 \| \*\*1\*\* \|[^<>]* random blobs: CPU \| 10\.0 s \|[^<>]*<!-- bench: end --> e"
    new = re.fullmatch(said, found[1])
    return check("sentences of README", 1, found[0] == f"b{after}" and bool(new), 1)


def of_methods(folder):
    """README's example of both methods follows the cells, and is left alone where they show nothing of the kind."""
    path, found = f"{folder}/METHODS.md", []
    sent = {("pages", "update0.1"): 5, ("vacuum", "update0.1"): 6, ("pages", "delete30"): 8, ("vacuum", "delete30"): 7}
    for wrong in ({}, {("vacuum", "update0.1"): 5}, {("vacuum", "delete30"): 8}, {("pages", "update0.1"): None}):
        with open(path, "w") as file:
            file.write("a <!-- bench: methods -->b<!-- bench: end --> c")
        cells = [
            {"kind": "oltp", "size": "1G", "tool": f"sealift/{method}", "what": what, "run": 1, "ok": True, "sent": value * 10**6}
            for (method, what), value in (sent | wrong).items()
            if value
        ]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            readme.write(Figures(cells), path)
        with open(path) as file:
            found.append((file.read(), bool(output.getvalue())))
    said = "0.1 % of the rows of 1 GiB of orders cost 5.00 MB, and 6.00 MB vacuumed. Where much changes it sends more: "
    said += "8.00 MB against 7.00 MB after 30 % were deleted"
    texts = [f"a <!-- bench: methods -->{one}<!-- bench: end --> c" for one in (said, "b", "b", "b")]
    return check("README's example of both methods", 1, found == list(zip(texts, (False, True, True, False))), 1)


def of_comparison(folder):
    """What a restore must not come back as: values in other rows, an index that says something else."""
    path = f"{folder}/compared"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t(id integer primary key, x text)")
        connection.executemany("insert into t values(?, ?)", ((i, f"value {i * 7 % 100}") for i in range(1000)))
        connection.execute("create index by_x on t(x)")
        entry = connection.execute("select * from sqlite_schema where name = 'by_x'").fetchone()
    known, proven, noticed = databases.digest(path), set(), []
    harms = {
        "other rows": ["update t set x = 'value ' || ((id + 1) % 1000 * 7 % 100)"],
        # Rows as they were, but the index was asleep when one of them came back.
        "missing from index": [
            "update t set x = 'nothing' where id = 5",
            "pragma writable_schema = on; delete from sqlite_schema where name = 'by_x'",
            "update t set x = 'value 35' where id = 5",
            f"pragma writable_schema = on; insert into sqlite_schema values {entry}",
        ],
    }
    for harm, steps in harms.items():
        shutil.copyfile(path, path + ".harmed")
        for step in steps:
            with sqlite3.connect(path + ".harmed") as connection:
                connection.executescript(step)
            connection.close()
        try:
            databases.demand(path + ".harmed", known, proven)
        except measure.Failed as failure:
            noticed.append(str(failure))
    databases.demand(path, known, proven)
    good = check("files that were proven", 1, len(proven), 1)
    databases.demand(path, known, proven)
    return good & check(f"harmed databases that were noticed ({'; '.join(noticed)})", 2, len(noticed), 2)


def main():
    measure.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="sealift-bench-selftest-") as folder:
        tests = [of_figures, of_series, of_cut_series, of_copies, of_sizes, of_levels, of_results, of_cores, of_folders, of_rooms, of_counts, of_sittings, of_restores, of_disk, of_builds]
        tests += [of_verdicts, of_narrow_verdicts, of_report, of_readme, of_methods, of_comparison, of_databases]
        if sys.argv[1:] != ["--quick"]:
            tests += [of_wire, of_memory, of_cpu]
        results = [test(folder) for test in tests]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
