#!/usr/bin/python3
"""What bounds the targets that are not met, in words; the figures that show it stand in the report."""

import targets

WORK = (
    "every core is busy from beginning to end (\"What bounds it\", *of the machine*), so time is the work that is done. SQLite's own "
    "copy and check take the part told in \"What SQLite alone takes\"; the rest is compression, fingerprints, encryption, and "
    "the verification of each pack before it is sent, which no rival does"
)
WHY = {
    "time of a first push": WORK,
    "time after 1 % updates": WORK + "; the new copy is read and fingerprinted whole, and its rows are looked up in the base",
    "throughput of sealing": "a push into a folder is more than zstd: SQLite's copy and check, pages taken apart into cells, "
    "fingerprints, encryption and verification, in the shares of \"What bounds it\"",
    "time of a restore": "zstd, SHA-256 and AES-GCM take about half of the time, the kernel a quarter (sockets, the file), by the "
    "profile; the S3 server works on the same cores, and deriving the key from the passphrase comes first, alone, on one core",
    "throughput of a restore": "fingerprints of all pages, decryption, and cells put back, beside zstd",
    "local disk beyond what is kept": "beside the copy stand the packs that are on their way, and what finds equal pages in it",
    "list of": "by passphrase nearly all of it is the derivation of the key (scrypt, meant to take that long); by key file stands "
    "beside it. Cold, each manifest is a request",
    "mean bytes of 100 successive pushes": "the pages of a `.backup` copy stay where they were, so page-level deduplication of such "
    "copies meets fewer new ones than of vacuumed copies, which are what is pushed by default",
    "start of the command": "the dynamic linker, which binds libcurl and all it needs",
    "peak anonymous memory": "what the parallel lanes hold: blocks, packs on their way, contexts of zstd",
}


def unmet(figures):
    """A section for what is not met; nothing when all is."""
    missed = [what for what, _, _, _, verdict in targets.rows(figures)[1] if verdict is False]
    lines = [f"* **{what}**: {reason(what)}." for what in missed]
    if lines:
        yield "### What is not met, and what bounds it\n\n" + "\n".join(lines)


def reason(what):
    return next((why for begin, why in WHY.items() if what.startswith(begin)), "not looked into yet")
