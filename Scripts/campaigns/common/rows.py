#!/usr/bin/env python3
"""What a campaign found, kept for Docs/Reliability.md: one row for each fault.

    rows.py CAMPAIGN FAULT HOW COUNT ASSERTED RESULT COMMAND SIZE       for campaigns that are no Python
"""
import json, os, shlex, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
STAND_INS = {"--binary": "PROGRAM", "--targets": "TARGETS.JSON"}
TRIED = ["Sources", "Package.swift", "Tests", "Scripts/campaigns"]
DIRTY = "-dirty"
FOLDER = os.environ.get("SEALIFT_RELIABILITY", f"{ROOT}/.build/reliability")


def command():
    """What does it again: the command that runs now, without places of this machine."""
    words, told = iter(sys.argv[1:]), [f"Scripts/campaigns/{os.path.basename(sys.argv[0])}"]
    for word in words:
        told.append(word)
        if word in STAND_INS:
            next(words)
            told.append(STAND_INS[word])
    return shlex.join(told)


def tell(campaign, fault, how, count, asserted, result, command, **more):
    """Writes the row of one fault and says it aloud.

    `count` is what was injected, in words ("2,143 points in 2,160 runs"); `result` what came of it ("0 losses").
    Of one commit, a later run with fewer cases does not take the place of a greater one: `size` decides. Rows of different
    commits lie side by side, and `Scripts/reliability` chooses.
    """
    print(f"{campaign}: {fault}: {count}; {result}", flush=True)
    os.makedirs(FOLDER, exist_ok=True)
    tried = commit()
    name = "".join(c if c.isalnum() else "-" for c in f"{campaign}-{fault}".lower())[:120]
    path = f"{FOLDER}/{name}-{tried}.json"
    row = {"campaign": campaign, "fault": fault, "how": how, "count": count, "asserted": asserted, "result": result,
           "command": command, "commit": tried, "date": time.strftime("%Y-%m-%d", time.gmtime()), **more}
    if os.path.exists(path):
        with open(path) as file:
            if json.load(file).get("size", 0) > row.get("size", 0):
                return
    with open(path + ".new", "w") as file:
        json.dump(row, file, indent=1)
    os.rename(path + ".new", path)


def commit(root=ROOT):
    """What was tried; `-dirty` where that was never committed: nobody else could try it again."""
    try:
        head = git(root, "rev-parse", "--short=9", "HEAD")
        changed = head and git(root, "status", "--porcelain", "--", *TRIED)
    except FileNotFoundError:
        return "unknown"
    return head + (DIRTY if changed else "") if head else "unknown"


def git(root, *words):
    return subprocess.run(["git", "--no-optional-locks", "-C", root, *words], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) != 9:
        sys.exit(__doc__)
    tell(*sys.argv[1:8], size=int(sys.argv[8]))
