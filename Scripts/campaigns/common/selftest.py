#!/usr/bin/env python3
"""Do the campaigns see what they look for? Each check gives them something made up whose meaning is known. The tests run it."""
import collections, contextlib, importlib.machinery, importlib.util, io, json, os, shutil, signal, subprocess, sys, tempfile, threading, time, types
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import rows
from mutants import MUTANTS
from traced import calls_of, met

OURS = '7 openat(AT_FDCWD, "/desk/state", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)'
OTHER = '8 openat(AT_FDCWD, "/desk/target", O_RDONLY) = 3</desk/target>'
LOADER = '7 openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)'
ERROR = '7 write(2</dev/null>, "sealift: error", 14) = -1 EIO (Input/output error) (INJECTED)'
HALVES = ['7 openat(AT_FDCWD, "/desk/state", O_RDONLY <unfinished ...>', OTHER,
          "7 <... openat resumed>) = -1 EIO (Input/output error) (INJECTED)"]


def of_crashes():
    """What a log tells, and how the program ended: whether a call of ours was met, and whether a stranger may have ended it."""
    return {
        "a crash after a fault of ours": (seen([OTHER, OURS], -11), (True, False)),
        "a crash after a stranger's fault and one of ours": (seen([LOADER, OURS], -11), (True, False)),
        "a crash after one of ours and a stranger's": (seen([OURS, LOADER], -11), (True, True)),
        "a loader without a library": (seen([LOADER], 127), (False, True)),
        "a crash without a fault": (seen([OTHER], -11), (False, False)),
        "an error after a stranger's fault": (seen([LOADER], 1), (False, False)),
        "a fault that is told in two halves": (seen(HALVES, -6), (True, False)),
        "standard error that cannot be written": (met(calls_of([ERROR]), "/desk/")[0].voiceless, True),
    }


def of_slices():
    """What a row of Docs/Reliability.md says of its run: whether that was less than the full one."""
    reliability = loaded(f"{HERE}/../../reliability")
    killed = "kill-points --binary PROGRAM --push 2000 --restore 3 --others 60"
    runs = {
        ("each object missing", "8 of 95 harms, drawn", "objects --binary PROGRAM --cases 8"): True,
        ("each object missing", "95 of 95 harms", "objects --binary PROGRAM"): False,
        ("interleavings", "6721907 states", "model"): True,
        ("interleavings", "480000000 states", "model --full"): False,
        ("kill -9 of a push, at any call", "2004 distinct points", killed): False,
        ("kill -9 of a forget, at any call", "61 distinct points", killed): True,
        ("kill -9 of a restore, at any call", "257 distinct points, every call there is,", killed): False,
        ("no memory for libzstd during check", "3 of 4 allocations failed", "memory --binary PROGRAM --cases 3"): True,
        ("no memory for libzstd during drill", "3 of 3 allocations failed", "memory --binary PROGRAM --cases 3"): False,
        ("connection reset inside a request of push", "4 cases", "wire --binary PROGRAM --cuts 4"): True,
        ("requests delivered twice", "70 requests met", "wire --binary PROGRAM --cuts 4"): False,
        ("hostile bytes to every parser", "4,308,721 inputs", "fuzz --debug --seconds 10"): True,
        ("hostile bytes to every parser", "36,000,000 inputs", "fuzz --runs 1000000 --all"): False,
        ("power lost during init", "120 schedules", "power --binary PROGRAM"): False,
        ("the life of a database", "1376 versions", "versions --binary PROGRAM --other some"): True,
        ("hostile bytes to every parser", "1,000,000 inputs", "fuzz --runs 1000000 --all --only manifest"): True,
        ("plaintext or secrets", "9 forms", "canary --binary PROGRAM --cores 200"): True,
        ("plaintext or secrets", "9 forms", "canary --binary PROGRAM --targets TARGETS.JSON"): False,
        ("core files", "200 runs met", "canary --binary PROGRAM --cores 200"): False,
        ("a long life", "600 minutes", "soak --binary PROGRAM --minutes 600 --names ceph"): True,
        ("a long life", "600 minutes", "soak --binary PROGRAM --minutes 600 --names swift,apache-basic,ceph"): False,
        ("key slots", "9 cases", "suites --small"): True,
        ("key slots that ask for anything", "9,999 cases (cost 9,999)", "suites"): True,
        ("key slots that ask for anything", "10,000 cases (cost 10,000)", "suites"): False,
        ("a check of ours is missing", f"{len(MUTANTS) - 1:,} mutants", "mutants"): True,
        ("a check of ours is missing", f"{len(MUTANTS):,} mutants", "mutants"): False,
    }
    return {f"{fault}, {count}, {command}": (reliability.is_slice({"campaign": command.split()[0], "fault": fault, "count": count, "command": command}),
                                    expected) for (fault, count, command), expected in runs.items()}


def of_commits():
    """Rows of what was never committed: marked so, kept so by the page, and worth less than those of a commit."""
    # Where a hook of git calls, it names another repository.
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    reliability = loaded(f"{HERE}/../../reliability")
    row = {"campaign": "model", "fault": "interleavings", "how": "searched", "count": "9 states", "asserted": "no loss", "result": "0 losses",
           "command": "Scripts/campaigns/model --full", "commit": "0123456789", "date": "2026-11-20"}
    dirty, small = row | {"commit": "0123456789-dirty"}, row | {"command": "Scripts/campaigns/model"}
    with tempfile.TemporaryDirectory() as folder:
        reliability.PAGE = f"{folder}/page"
        with open(reliability.PAGE, "w") as file:
            file.write(reliability.page([row, dirty]))
        told = list(reliability.found_before())
        outgrown = row | {"campaign": "mutants", "command": "Scripts/campaigns/mutants", "count": "1 mutants"}
        with open(reliability.PAGE, "w") as file:
            file.write(reliability.page([outgrown]))
        with open(reliability.PAGE) as file:
            marked = f"| *a slice of {len(MUTANTS):,}:* 1 mutants |" in file.read()
        regrown = list(reliability.found_before())
    marks = {}
    with tempfile.TemporaryDirectory() as folder:
        # Whatever the person's own configuration of git says.
        as_nobody = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", "-C", folder, *words], check=True, env=as_nobody)
        for name in ("notes", "Sources"):
            marks[f"before {name}"] = rows.commit(folder).endswith("-dirty")
            with open(f"{folder}/{name}", "w"):
                pass
        marks["after"] = rows.commit(folder).endswith("-dirty")
    return {
        "rows on the page": (told, [row, dirty]),
        "a row that its campaign has outgrown": ((marked, regrown), (True, [outgrown])),
        "a full run that was never committed, and a slice": (reliability.weight(dirty) < reliability.weight(small), True),
        "a greater run that was never committed": (reliability.takes_place_of(dirty | {"count": "99 states"}, row), False),
        "commits": (marks, {"before notes": False, "before Sources": False, "after": True}),
    }


def of_later_runs():
    """A full run of a later commit stands for one that met more; a slice, or what was never committed, does not. What was
    changed since is told.
    """
    reliability, chosen = loaded(f"{HERE}/../../reliability"), {}
    as_nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        reliability.ROOT, reliability.FOLDER, reliability.PAGE = folder, f"{folder}/rows", f"{folder}/page"
        git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
        commits = []
        subprocess.run([*git, "init", "-q"], check=True, env=os.environ | as_nobody)
        os.mkdir(f"{folder}/Sources")
        for name in ("notes", "Sources/one", "Sources/two", "more"):
            with open(f"{folder}/{name}", "w"):
                pass
            for words in (["add", name], ["commit", "-q", "-m", name]):
                subprocess.run([*git, *words], check=True, env=os.environ | as_nobody)
            commits.append(rows.commit(folder).removesuffix("-dirty"))
        # One that this clone has, and that none of its own came from.
        aside = subprocess.run([*git, "commit-tree", "-m", "aside", "HEAD^{tree}"], check=True, capture_output=True, text=True, env=os.environ | as_nobody)
        commits.append(aside.stdout.strip())
        old = {"campaign": "model", "fault": "interleavings", "how": "searched", "count": "900 states", "asserted": "no loss",
               "result": "0 losses", "command": "Scripts/campaigns/model --full", "commit": commits[0], "date": "2026-11-20"}
        later = {
            "a later full run that met less": old | {"count": "8 states", "commit": commits[2]},
            "one that met less, later by its commit though not by its day": old | {"count": "8 states", "commit": commits[2], "date": "2026-11-19"},
            "a later slice": old | {"command": "Scripts/campaigns/model", "count": "999 states", "commit": commits[2]},
            "a later one that was never committed": old | {"count": "999 states", "commit": commits[2] + "-dirty"},
            "a full run of the same commit that met less": old | {"count": "8 states"},
            "one of another history, of an earlier day": old | {"count": "999 states", "commit": "0123456789", "date": "2026-11-19"},
        }
        for what, row in later.items():
            with open(reliability.PAGE, "w") as file:
                file.write(reliability.page([old]))
            before = rows.FOLDER, rows.commit
            rows.FOLDER, rows.commit = reliability.FOLDER, lambda: row["commit"]
            with contextlib.redirect_stdout(io.StringIO()):
                rows.tell(*(row[key] for key in ("campaign", "fault", "how", "count", "asserted", "result", "command")), size=1, date=row["date"])
            rows.FOLDER, rows.commit = before
            (kept,) = reliability.merged()
            chosen[what] = kept["count"] == row["count"]
            shutil.rmtree(reliability.FOLDER)
        # The other way round: what stands in the page is the later one.
        chosen["an earlier one, found later"] = reliability.takes_place_of(old | {"date": "2026-11-30"}, old | {"count": "8 states", "commit": commits[2]})
        changed = [reliability.since(commit) for commit in (commits[0], commits[1] + "-dirty", commits[3], commits[4], "0123456789")]
    return {what: (found, "met less, later" in what or "later full run" in what) for what, found in chosen.items()} | {
        "commits since": (changed, ["2 commits since", "1 commit since", "0 commits since", "not in this history", "not in this history"])}


def of_kept_rows():
    """Of one commit the greater run is kept, in whatever order they came; one of another commit is kept beside it."""
    before, counts = (rows.FOLDER, rows.commit), []
    with tempfile.TemporaryDirectory() as folder:
        rows.FOLDER = folder
        for commit, size in (("first", 3), ("first", 9), ("first", 5), ("second", 1)):
            rows.commit = lambda: commit
            with contextlib.redirect_stdout(io.StringIO()):
                rows.tell("model", "interleavings", "searched", f"{size} states", "no loss", "0 losses", "model", size=size)
        for name in os.listdir(folder):
            with open(f"{folder}/{name}") as file:
                counts.append(json.load(file)["size"])
    rows.FOLDER, rows.commit = before
    return {"rows of two commits": (sorted(counts), [1, 9])}


def of_idle_campaigns():
    """One that injected nothing says so, and has found nothing."""
    writers, links, soak, errors, canary = (loaded(f"{HERE}/../{name}") for name in ("writers", "links", "soak", "errors", "canary"))
    busy = {"error": None, "bookings": 3, "is_alive": lambda: False}
    lively = collections.Counter({"faults": 2, "killed": 1, "late requests": 1, "restores": 9})

    def refuses(module, demand, *arguments):
        try:
            demand(*arguments)
        except module.Wrong:
            return True
        return False

    def written(**more):
        return refuses(writers, writers.demand_written, types.SimpleNamespace(**busy | more))

    def planted(*counts):
        """Runs the campaign with another user who plants so often, run by run."""
        left, told = iter(counts), []
        attacker = types.SimpleNamespace(stop=lambda: next(left), process=types.SimpleNamespace(returncode=1))
        run = types.SimpleNamespace(returncode=1, stderr="error")
        with mock.patch.multiple(links, Attacker=lambda *_: attacker, PLACES={"state": (lambda _: ([], [["list"]], None), 0)}):
            with mock.patch.object(links.rows, "tell", lambda *_, **more: told.append(more["size"])):
                desk = types.SimpleNamespace(run=lambda *_: run, check_acknowledged=lambda: None)
                hall = types.SimpleNamespace(desk=desk, precious="", check=lambda *_: None, clear=lambda: None, configure=lambda: None)
                return refuses(links, links.campaign, hall, "state", 0), told

    def met(*hits):
        """Runs the campaign of faults with a command whose calls come again so, drawn three at a time."""
        left, told = iter(hits), []
        made = types.SimpleNamespace(own={("write", number) for number in range(len(hits))})
        seen = types.SimpleNamespace(excuse=lambda _: None, strangers=[], voiceless=False)
        case = types.SimpleNamespace(desk=types.SimpleNamespace(folder="/nonexistent"), arguments=[], look=lambda *_: None)
        with mock.patch.multiple(errors, COMMANDS={"list": None}, Command=lambda *_: case, FAULTS={"write": ["EIO"]},
                                 trace=lambda *_: (types.SimpleNamespace(returncode=0), made),
                                 fail=lambda *_: (types.SimpleNamespace(returncode=3), seen, next(left) and ("write", 1, 1))):
            with mock.patch.object(errors.rows, "tell", lambda *said, **more: told.append((said[3].split(" runs")[0], more["size"]))):
                return refuses(errors, errors.campaign, "list", None, 3, 1, "/nonexistent"), told

    def ended_before_its_signal():
        """A process that is over when the signal comes: told as one without a core."""
        with tempfile.TemporaryDirectory() as folder:
            process = canary.start(["true"], folder)
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            os.kill(process.pid, signal.SIGABRT)
            return canary.told_core(process)

    return {
        "faults of which one comes late": (met(*[0] * 7, 1, 0, 1), (False, [("1 faults met in 9", 1)])),
        "faults of which none comes": (met(*[0] * 7), (True, [])),
        "a command that ended before its signal": (ended_before_its_signal(), (0, False)),
        "a writer that writes": (written(), False),
        "one that failed at the end": (written(error=OSError()), True),
        "one that hangs": (written(is_alive=lambda: True), True),
        "one that never came to write": (written(bookings=0), True),
        "pushes that are refused now and then": (refuses(writers, writers.demand_read, 240, 100), False),
        "pushes that all are refused, at the beginning": (refuses(writers, writers.demand_read, 48, 0), False),
        "pushes that all are refused": (refuses(writers, writers.demand_read, 144, 0), True),
        "links that were planted": (planted(0, 2, 0, 1), (False, [3])),
        "links of which one came late": (planted(*[0] * 20, 2), (False, [2])),
        "links of which none was planted": (planted(*[0] * links.PATIENCE), (True, [])),
        "another user who ended": (planted(2, None, 2, 2), (True, [])),
        "a life in bad weather": (refuses(soak, soak.demand_bad_weather, lively, 10), False),
        **{f"a life without {what}": (refuses(soak, soak.demand_bad_weather, lively - collections.Counter({what: 9}), 10), True) for what in lively},
        "a short life in fair weather": (refuses(soak, soak.demand_bad_weather, collections.Counter(), 9), False),
    }


def of_patience():
    """A command that goes on is waited for, however slow; one that stands still hangs, and none is waited for without end."""
    memory = loaded(f"{HERE}/../memory")

    def looked_at(*times, ends_at=None):
        """How a command ends whose time on processors is this, look by look: its status, or what was said of it."""
        looks = []

        def spent(process):
            looks.append(process)
            if len(looks) == ends_at:
                os.kill(process, signal.SIGTERM)
                os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
            return times[min(len(looks), len(times)) - 1]

        with mock.patch.object(memory, "spent", spent):
            try:
                return memory.ended(["sleep", "600"], patience=0.1).returncode
            except memory.Wrong as wrong:
                return str(wrong)

    def counted():
        """Whether what a thread did that has ended shows."""
        before, start = memory.spent(os.getpid()), time.process_time()

        def work():
            while time.process_time() < start + 0.1:
                pass

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return memory.spent(os.getpid()) - before >= 0.05 * os.sysconf("SC_CLK_TCK")

    said = memory.ended(["sh", "-c", "echo out; echo error >&2; exit 3"])
    return {
        "a command that ends": ((said.returncode, said.stdout, said.stderr), (3, "out\n", "error\n")),
        "a slow one": (looked_at(1, 2, 3, 4, 5, 6, 7, 8, 9, ends_at=3), -signal.SIGTERM),
        "one that stands still": (looked_at(1, 2, 2), "it hung for 0.1 s"),
        "one that goes on without end": (looked_at(*range(memory.LOOKS)), f"it had not ended after {memory.LOOKS * 0.1} s"),
        "the time of a thread that ended": (counted(), True),
    }


def of_objects():
    """Of what lies in a build folder, the objects of sources that are there."""
    fuzz = loaded(f"{HERE}/../fuzz")
    with tempfile.TemporaryDirectory() as folder:
        for path in ("build/Kept.swift.o", "build/Renamed.swift.o", "build/Kept.d", "Sources/Below/Kept.swift"):
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w"):
                pass
        found = [os.path.basename(path) for path in fuzz.objects_of(f"{folder}/build", [f"{folder}/Sources"])]
    return {"an object of a source that is gone": (found, ["Kept.swift.o"])}


def loaded(path):
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def seen(log, status):
    made, hit = met(calls_of(log), "/desk/")
    return hit is not None, made.excuse(status)


def main():
    found = of_crashes() | of_slices() | of_commits() | of_later_runs() | of_kept_rows() | of_idle_campaigns() | of_patience() | of_objects()
    wrong = {what: pair for what, pair in found.items() if pair[0] != pair[1]}
    for what, (found, expected) in wrong.items():
        print(f"WRONG {what}: {found} (expected {expected})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
