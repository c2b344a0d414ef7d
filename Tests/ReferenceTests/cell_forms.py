#!/usr/bin/env python3
"""Writes pages and their cell forms (Docs/Format.md §4.5) to a file, for another program to compare with its own.

    cell_forms.py OUT

Pages are those of databases that were worked with, whole and with bytes of chance. Encoder and decoder of
Scripts/unseal.py and the encoder of make_repository.py must agree on each. A record of OUT is
u32 page size ‖ u32 pages ‖ u32 length of the form ‖ pages ‖ form.
"""
import importlib.util, os, random, sqlite3, struct, sys, tempfile

import make_repository as maker

spec = importlib.util.spec_from_file_location("unseal", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                                     "..", "..", "Scripts", "unseal.py"))
unseal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unseal)


def live_pages(size, dice):
    """The pages of a database with free blocks, overflow chains, indexes and a table without rowids."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "db")
        db = sqlite3.connect(path, isolation_level=None)
        for sql in (f"PRAGMA page_size={size}", "PRAGMA secure_delete=0", "PRAGMA synchronous=0", "BEGIN",
                    "CREATE TABLE a(id INTEGER PRIMARY KEY, b TEXT, c BLOB)", "CREATE INDEX d ON a(b, c)",
                    "CREATE TABLE e(f TEXT PRIMARY KEY, g BLOB) WITHOUT ROWID"):
            db.execute(sql)
        for _ in range(600):
            blob = dice.randbytes(dice.randrange(3 * size if dice.random() < .03 else min(200, size // 4)))
            word, row = f"{dice.randrange(99999):x}", dice.randrange(500)
            db.execute("INSERT OR REPLACE INTO a VALUES(?,?,?)", (row, word, blob))
            db.execute("INSERT OR REPLACE INTO e VALUES(?,?)", (word, blob[:50]))
            db.execute("DELETE FROM a WHERE id=?", (dice.randrange(500),))
        db.execute("COMMIT")
        db.close()
        with open(path, "rb") as file:
            data = file.read()
    return [data[at:at + size] for at in range(0, len(data), size)]


def spoiled(page, dice):
    """The page with a few bytes changed where it matters, or anywhere."""
    page = bytearray(page)
    front = 12 if page[0] in (2, 5) else 8
    count = max(1, min(int.from_bytes(page[3:5], "big"), (len(page) - front) // 2))
    for _ in range(dice.randrange(1, 4)):
        a, b = (front + 2 * dice.randrange(count) for _ in range(2))
        cell = min(len(page) - 9, int.from_bytes(page[a:a + 2], "big"))
        kind = dice.randrange(5)
        if kind == 0:
            page[a:a + 2], page[b:b + 2] = page[b:b + 2], page[a:a + 2]
        else:
            page[(None, dice.randrange(12), a + dice.randrange(2), cell + dice.randrange(8),
                  dice.randrange(len(page)))[kind]] = dice.choice((0, 1, 2, 5, 10, 13, 255, dice.randrange(256)))
    return bytes(page)


def main(out):
    dice = random.Random(1)
    with open(out, "wb") as file:
        for size in unseal.PAGE_SIZES:
            pages = live_pages(size, dice)
            mutants = (spoiled(dice.choice(pages), dice) for _ in range(3_000_000 // (size + 3000)))
            for some in [pages[at:at + 8] for at in range(0, len(pages), 8)] + [[mutant] for mutant in mutants]:
                form = unseal.form_of(b"".join(some), size)
                assert form == maker.cell_form(some), "the two encoders differ"
                assert unseal.pages_of(form, len(some), size) == b"".join(some), "the pages do not come back"
                file.write(struct.pack(">III", size, len(some), len(form)) + b"".join(some) + form)


if __name__ == "__main__":
    main(sys.argv[1])
