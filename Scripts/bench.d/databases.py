#!/usr/bin/python3
"""The seeded databases that are pushed, and the changes made to them.

    databases.py make KIND BYTES PATH            a database of about that size, in WAL mode
    databases.py enlarge KIND TIMES PATH         as many times the rows, under other ids, the indexes made anew
    databases.py change KIND CHANGE ROUND PATH   one change, in one transaction (a VACUUM is its own)

Everything is decided by kind, size, change and round, nothing by chance or time: the same call makes the same rows. All
of it is SQL with a few seeded functions (noise.py), so that a gigabyte takes a minute or two.
"""

import hashlib, os, sqlite3, subprocess, sys

import kinds, measure, noise


def connect(path):
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    noise.register(connection)
    connection.execute("pragma cache_size = -200000")
    return connection


def size_of(connection):
    (pages,), (page_size,) = (
        connection.execute("pragma page_count").fetchone(),
        connection.execute("pragma page_size").fetchone(),
    )
    return pages * page_size


def make(kind, size, path):
    """Inserts batch after batch, indexes in place, as an application would have done over the years."""
    kind, building = kinds.KINDS[kind], path + ".making"
    if os.path.exists(building):
        os.unlink(building)
    connection = connect(building)
    for setting in ("page_size = 4096", "journal_mode = off", "synchronous = off", "locking_mode = exclusive"):
        connection.execute(f"pragma {setting}")
    connection.executescript(kind.schema)
    first, batch = 1, 50
    while (now := size_of(connection)) < size:
        connection.execute("begin")
        insert(connection, kind, first, first + batch - 1, 0)
        connection.execute("commit")
        first += batch
        # Batches of 2 % of what is missing to the size, judged by what the rows so far have taken.
        per_row = max(1, size_of(connection) // first)
        batch = max(20, min(int(size * 0.02) // per_row, (size - now) // per_row // 2))
    connection.execute("pragma locking_mode = normal")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    os.rename(building, path)


def enlarge(kind, times, path):
    """Much faster than inserting row by row with the indexes in place, for databases that memory does not hold."""
    kind, connection = kinds.KINDS[kind], connect(path)
    for setting in ("journal_mode = off", "synchronous = off", "locking_mode = exclusive"):
        connection.execute(f"pragma {setting}")
    indexes = connection.execute("select name, sql from sqlite_schema where type = 'index' and sql is not null").fetchall()
    (last,) = connection.execute(kind.last.format(table=kind.table)).fetchone()
    for name, _ in indexes:
        connection.execute(f"drop index {name}")
    for number in range(1, times):
        connection.execute("begin")
        for statement in kind.again:
            connection.execute(statement, {"last": last, "shift": number * (last + 1), "mark": f"{number}."})
        connection.execute("commit")
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("pragma locking_mode = normal")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def insert(connection, kind, first, last, seed):
    for statement in kind.insert:
        connection.execute(statement, {"first": first, "last": last, "seed": seed})


def change(kind, name, turn, path):
    """`turn` tells the rounds of the same change apart: each meets other rows."""
    kind, connection = kinds.KINDS[kind], connect(path)
    if name == "vacuum":
        connection.execute("vacuum")
    else:
        connection.execute("begin immediate")
        apply(connection, kind, name, turn)
        connection.execute("commit")
    connection.close()


def apply(connection, kind, name, turn):
    seed = 1000 + turn
    if name in ("update0.1", "update1", "update0.1grow", "update1grow"):
        permille = 1 if "0.1" in name else 10
        for statement in kind.grow if name.endswith("grow") else kind.update:
            connection.execute(statement, {"permille": permille, "seed": seed})
    elif name == "append1":
        (last,) = connection.execute(kind.last.format(table=kind.table)).fetchone()
        (count,) = connection.execute(f"select count(*) from {kind.table}").fetchone()
        insert(connection, kind, last + 1, last + max(1, count // 100), seed)
    elif name == "delete30":
        for statement in kind.delete:
            connection.execute(statement, {"permille": 300, "seed": seed})
    elif name == "schema":
        for statement in kind.alter:
            connection.execute(statement.format(turn=turn))
    elif name == "onepage":
        connection.execute(kind.touch, {"seed": seed})
    else:
        sys.exit(f"databases: there is no change {name}")


def digest(path):
    """What the rows hold, so that a restored copy of another layout can be compared: SQLite's own SHA-3 over all values of
    each table, row by row, and the schema. Litestream's own tables do not count.
    """
    done = subprocess.run(["sqlite3", "-readonly", path, ".sha3sum %"], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise measure.Failed(f"{path} cannot be read: {done.stderr.strip()[:200]}")
    tables = [line for line in done.stdout.splitlines() if not line.split("|")[1].startswith(("_litestream", "sqlite_"))]
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    schema = connection.execute(
        "select type, name, sql from sqlite_schema where tbl_name not like '\\_litestream%' escape '\\' order by 1, 2"
    ).fetchall()
    connection.close()
    return tables, schema


def demand(path, expected, proven=None):
    """Throws measure.Failed unless a restored database is sound, its indexes too, and holds what `digest` gave for the
    one that was pushed. The set `proven` remembers whole files that did: of the same bytes nothing need be read again.
    """
    proof = None
    if proven is not None and not os.path.exists(path + "-wal"):
        with open(path, "rb") as file:
            proof = hashlib.file_digest(file, "sha256").hexdigest(), repr(expected)
        if proof in proven:
            return
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = [row[0] for row in connection.execute("pragma integrity_check(1)")]
    connection.close()
    if found != ["ok"]:
        raise measure.Failed(f"the restored database is damaged: {found[0]}")
    if digest(path) != expected:
        raise measure.Failed("the restored database holds something else")
    if proof is not None:
        proven.add(proof)


def main():
    action, kind, *rest = sys.argv[1:]
    if action == "make":
        make(kind, int(rest[0]), rest[1])
    elif action == "enlarge":
        enlarge(kind, int(rest[0]), rest[1])
    else:
        change(kind, rest[0], int(rest[1]), rest[2])


if __name__ == "__main__":
    main()
