#!/usr/bin/python3
"""Does the measurement measure? Each check gives it something whose size is known. Run by hand; takes some seconds."""

import os, shutil, socket, sqlite3, sys, tempfile, threading, time

import databases, kinds, measure
from figures import Figures
from results import Results
from room import Wire

MIB = 1 << 20


def check(what, low, value, high):
    good = low <= value <= high
    print(f"{'ok   ' if good else 'WRONG'} {what}: {value:,.3f} (expected {low:,.3f} to {high:,.3f})")
    return good


def of_memory(folder):
    """A grandchild takes 100 MiB for a moment, and another reads a file of 60 MiB that must not count."""
    program = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', "
        f"'import time; kept = bytearray(b\"x\") * {100 * MIB}; time.sleep(0.2)']); "
        f"import mmap; file = open('{folder}/mapped', 'w+b'); file.truncate({60 * MIB}); "
        f"memory = mmap.mmap(file.fileno(), 0); sum(memory[::4096]); import time; time.sleep(0.1)"
    )
    usage = measure.run([sys.executable, "-c", program], dict(os.environ), folder, f"{folder}/log")
    return check("peak of anonymous memory, MiB", 100, usage.anonymous / MIB, 140)


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


def of_sittings(_):
    """Times of another day are not compared; bytes are. Nor is a tool whose other variant's time says nothing."""
    cell = {"kind": "oltp", "size": "1M", "what": "first", "ok": True, "load": 0, "sent": 6, "wall": 6.0}
    cells = [
        cell | {"tool": tool, "run": run, "at": at, "load": load}
        for tool, run, at, load in (
            *(("a", run, 0, 0) for run in (1, 2, 3)),
            *(("b/x", run, at, 0) for run, at in ((1, 60), (2, 60), (3, 90_000))),
            ("b/y", 2, 60, 99),
        )
    ]
    figures = Figures(cells)
    found = [len(figures.ratios("oltp", "1M", "a", "b", "first", metric)) for metric in ("sent", "wall")]
    return check("ratios of bytes and of times", 31, found[0] * 10 + found[1], 31)


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
    check("files that were proven", 1, len(proven), 1)
    databases.demand(path, known, proven)
    return check(f"harmed databases that were noticed ({'; '.join(noticed)})", 2, len(noticed), 2)


def main():
    measure.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="sealift-bench-selftest-") as folder:
        tests = (of_figures, of_results, of_sittings, of_comparison, of_wire, of_memory, of_cpu, of_databases)
        results = [test(folder) for test in tests]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
