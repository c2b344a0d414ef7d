#!/usr/bin/python3
"""The part of the report that is no table: how it was measured, and what is unfair to whom. Cells tell of which tools,
and how often.
"""

import targets
from figures import PAIRED, plural

NAMES = {"sealift": "Sealift", "limit": "the computed limit"}


def text(figures):
    return TEXT.replace("{chain}", chain(figures)).replace("{series}", series(figures)).strip()


def chain(figures):
    """How often the end of a chain was restored."""
    counts = [len(runs) for (_, _, _, what), runs in figures.groups.items() if what == "chain-restore"]
    least, most = min(counts, default=0), max(counts, default=0)
    return plural(most, "time") if least == most else f"{least} to {plural(most, 'time')}"


def series(figures):
    """The tools whose series of pushes were measured at each size, and by what copies where it was not by both."""
    return "; ".join(
        f"{title} at {size}iB, of {told}"
        for size in targets.series_sizes(figures)
        for name, title in targets.SERIES.items()
        if (told := series_at(figures, size, name))
    )


def series_at(figures, size, name):
    found = {}
    for tool in targets.SUSTAINED:
        if figures.runs("oltp", size, tool, f"{name}-001"):
            family, _, variant = tool.partition("/")
            found.setdefault(family, []).append(variant)
    told = [NAMES.get(family, family) + copies(family, variants) for family, variants in found.items()]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def copies(family, variants):
    return f" (copied by {targets.COPIES[variants[0]]} alone)" if family in PAIRED and len(variants) < 2 else ""


TEXT = """
## How it is measured

* **Bytes** sent to the S3 server (Ceph's RADOS Gateway, in memory, on 127.0.0.1) are the kernel's count of what the
  client's end of each connection sent; bytes received from it are the count of the server's end. On loopback that is
  what the other end got: TCP payload, HTTP's headers included, without what was sent again. **Requests** are the lines
  of the server's own access log. **Stored** is a listing of the bucket. Where requests were made and no byte was
  counted, or where the bucket grew by more than what was counted as sent, the count missed a connection: the cell
  failed, is in no table, and is named at the end.
* **Time** is that of all commands a tool needs, copies included; **CPU** is user and system time of all their
  processes, orphans too, not of the server. **Memory** is the peak of the anonymous memory of the whole tree of
  processes, sampled every 4 ms: a shorter peak can be missed. What is not counted in it are pages of mapped files,
  also of files without a name that a program keeps its tables in: they are the system's to take back. They are in
  the **resident** size beside it, which is the greatest that the kernel noted of one process, not of all together, and
  – where that was not looked at.
  Up to a minute is waited for the load to fall; a cell that began while it was above the number of its machine's cores
  and two more, during which the host of the virtual machine gave more than a tenth of its time to others, or beside
  which other work was known to be done, counts for bytes, requests and memory, but not for time.
  Times are compared only where both were taken within three hours. Cells of several days and machines may stand side
  by side; the head of this report says of how many.
* Databases and changes are seeded: the same rows on every machine. Every change is made to the database of the first
  push, in one transaction, and every tool is taken back to its own state after the first push before it. A run is one
  turn of the tools that take part in it, one after the other; ratios are taken within a run and their median is told.
* The newest version is **restored twice**: right after the first push, which is the best case of whoever keeps a change
  apart from what it changes, and after 1 % updates, with one change to be put in. A target for restores counts both.
  "Restore at the end of a chain" is of one chain of each tool, thirty such changes one after the other, each pushed; its
  newest version is restored {chain}, and nothing else is measured there. rclone and the shell script keep whole files,
  so a chain makes no difference to them, and Litestream `-once` sends the whole anew each time; they stand there for
  comparison. The daemon keeps what it shipped after each change, since its compaction is set to once a day.
* Before the first push, and before a push of an unchanged database, files are left alone for 2.2 s (duplicity: 1.1 s):
  what was touched within the grain of the clock is not believed to be unchanged by its times. After a change that was
  pushed at once, the next push looks at the content once more. The wait is in no figure.
* Every tool gets an environment of its own: home, caches, no settings. Everything lies in the page cache. Every
  restored database must pass `integrity_check`, and have the schema and, table by table, the SHA-3 over all rows
  (`.sha3sum`) of the one that was pushed; one that differs counts as failed. (The 10 GiB one: SHA-256 of the file.)
* Tools that cannot copy a live database are given a file, made by `VACUUM INTO` and by `.backup`. Both are measured
  whole, the copy's time counts, and **for each figure the better of the two counts**: bytes may come from one, time
  from the other. "Which copy suited a tool better" shows both. Sealift, Litestream and the shell script copy by
  themselves.
* Where the host of a virtual machine takes free memory back at once (page reporting), all of it is taken into use once
  before anything is measured, and one page of each 2 MiB is held, so that it stays: otherwise the first to write a
  gigabyte pays seconds for that, and the next one nothing.
* Lines in *italics* are computed limits: nothing is encrypted or sent, `sent` is the size of a file.
* Rivals restore their newest version only. The series of many pushes are: {series}.
  In each run other rows change, for what one run costs depends on where Sealift's anchors fall.
  What a restore of one version fetches there is what Sealift itself says of it, and what one really received stands
  below. The packs that it needs hold more than what it fetches: whether they, too, stay within twice a first push is
  looked at by `Scripts/campaigns/versions` (Docs/Reliability.md has what it found, Decisions/0005 the greatest figure).
  The lists of 1,000 versions are of a 1 MiB database pushed 1,000 times: by `pages`, and for restic and borg from
  `.backup` copies; borg's cold list begins with fetching its repository. Everything of 10 GiB is Sealift's alone, by
  key file (dashed in the charts): first push, one changed page, unchanged, 1 % updates, restore; its memory is compared
  with that of 1 GiB after the same first push, 1 % updates and restore.
* README's table of zstd's **levels** is of first pushes of vacuumed copies to the same server, opened by a key file; all
  levels of a run are pushed one after the other.
* **Disk** is what files with a name take, looked at every 100 ms, and, in newer cells, once more when the last step has
  ended: a shorter peak can be missed. Of an older first push it is at least what lay there afterwards. Tables that
  Sealift keeps in files without a name, some tens of bytes for each page, are not seen. Litestream keeps its files
  beside the database, where the application's own `-wal` grows too; it has no figure.

## What is unfair to whom

* **To Sealift**: every push opens the repository by its passphrase, which is made to cost half a second and 128 MiB
  (scrypt); restic lets its own take about as long, with half the memory; borg's needs none. It verifies every sealed pack before it
  uploads it, and has SQLite check the copy that it pushes: the copies that others are given are counted in their time
  as well, and are checked by nobody. Litestream, rclone and the shell script keep no index, check nothing, and the
  shell script keeps only whole copies.
* **To restic**: made for trees of files of which few change; its version here is Debian's, newer ones may do better.
  Its chunks of about 1 MiB cannot fit pages that change all over a file.
* **To borg**: it speaks no S3, so its local repository is synchronised by rclone; a restore fetches the whole
  repository first, where a person at the same machine would read the local one.
* **To duplicity**: its half second of Python and gpg hardly matters for large files. It keeps a signature of the file
  before on disk, as Sealift keeps the copy itself.
* **To Litestream**: the daemon ships every transaction within a second, which nothing else here does, and encrypts
  nothing. Its compaction is set to once a day (the default is every 30 s), but when it starts it ships a snapshot of the
  whole beside what it has read, and sometimes compacts that at once: **its first push counts the database two or three
  times**, which is what it sends. Its time says when the last byte had left. `-once` meets a database that was closed and
  checkpointed by the application, as a timer would run it, and then sends everything anew.
* **To rclone crypt**: it is no backup program; every version is a whole file.
* **To whoever is fast**: the S3 server works on the same cores as the tool. It takes a part of the time of those who would
  wait for nothing else, such as a restore by key file.
* **To all others**: loopback has no latency and endless bandwidth. On a real line time follows bytes.
* The processor is shared by tool and server; times of one run are comparable, those of different days are not.
"""
