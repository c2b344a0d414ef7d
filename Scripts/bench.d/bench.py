#!/usr/bin/python3
"""Runs the benchmarks; Scripts/bench has installed, built and started all that is needed. See there for the options."""

import argparse, importlib, os, signal, sys

import machine, measure, memory, report
from kinds import KINDS
from results import Results
from room import Wire, target_of
from stock import Stock
from studies.matrix import RESTORE_AFTER
from studies.sustained import SERIES

FAMILIES = ["sealift", "restic", "borg", "duplicity", "rclone", "litestream", "shell", "limit"]
CHANGES = ["update0.1", "update0.1grow", "update1", "update1grow", "append1", "delete30", "schema", "vacuum"]
ALWAYS = ["first", "restore", "unchanged"]
CELLS = [*ALWAYS, *CHANGES, *RESTORE_AFTER.values()]
STUDIES = ["matrix", "sustained", "chain", "list", "start", "throughput", "memory", "profile", "levels", "large"]
SIZES, SERIES_SIZES = ["64M", "1G"], ["64M"]


def all_tools():
    return [tool for family in FAMILIES for tool in importlib.import_module(f"tools.{family}").TOOLS]


def parse(arguments):
    def words(text):
        return [word for word in text.split(",") if word]

    parser = argparse.ArgumentParser(prog="Scripts/bench", description=__doc__)
    parser.add_argument("--kind", type=words, default=list(KINDS), help=f"of {','.join(KINDS)}")
    parser.add_argument(
        "--size",
        type=words,
        default=[],
        help=f"of matrix, throughput, memory, profile ({','.join(SIZES)} when not given) and of sustained "
        f"({','.join(SERIES_SIZES)}; of 1G a run of Sealift and the limits takes hours)",
    )
    parser.add_argument(
        "--tools", type=words, default=[], help="families or names, such as sealift,restic/vacuum; all when not given"
    )
    parser.add_argument("--changes", type=words, default=CELLS, help=f"of {','.join(CELLS)}")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--from-run", type=int, default=1, help="leaves the runs before it as they are")
    parser.add_argument("--only", type=words, default=[], help=f"of {','.join(STUDIES)}; all but large when not given")
    parser.add_argument(
        "--large", action="store_true", help="also the 10 GiB database: takes hours, 60 GB of disk, 10 GB of memory"
    )
    parser.add_argument(
        "--versions",
        type=int,
        default=100,
        help="of the sustained study; the server's 14 GiB of memory hold 20 of restic of 1G",
    )
    parser.add_argument(
        "--series", type=words, default=list(SERIES), help=f"of the sustained study: of {','.join(SERIES)}"
    )
    parser.add_argument("--listed", type=int, default=1000, help="versions of the list study")
    parser.add_argument("--keep", action="store_true", help="leave the large databases on disk for another call")
    parser.add_argument("--out", required=True)
    parser.add_argument("--report", action="store_true", help="only write Docs/Benchmarks.md anew")
    parser.add_argument("--servers", help=argparse.SUPPRESS)
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.series_size, options.size = options.size or SERIES_SIZES, options.size or SIZES
    asked = ((options.kind, KINDS), (options.changes, CELLS), (options.only, STUDIES), (options.series, SERIES))
    for given, known in asked:
        if unknown := set(given) - set(known):
            parser.error(f"there is no {', '.join(sorted(unknown))}; choose of {', '.join(known)}")
    return options


def chosen_tools(names):
    tools = all_tools()
    for name in names:
        if not any(name in (tool.name, tool.name.split("/")[0]) for tool in tools):
            sys.exit(f"bench: there is no tool {name}; they are {', '.join(tool.name for tool in tools)}")
    return [tool for tool in tools if not names or tool.name in names or tool.name.split("/")[0] in names]


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not options.report:
        os.makedirs(options.out, exist_ok=True)
        run(options)
    report.write(options.out)


def run(options):
    tools = chosen_tools(options.tools)
    measure.adopt_orphans()
    machine.note(options.out, options.programs)
    kept = memory.hold()
    if kept:
        print("bench: this machine's memory is kept from its host while something is measured", flush=True)
    wire = Wire(target_of(options.servers), options.servers)
    bench = Bench(options, wire, tools)
    studies = options.only or [study for study in STUDIES if study != "large"]
    if options.large and "large" not in studies:
        studies.append("large")
    for study in studies:
        importlib.import_module(f"studies.{study}").run(bench)


class Bench:
    """What every study is given."""

    def __init__(self, options, wire, tools):
        self.options, self.wire, self.tools = options, wire, tools
        self.runs = range(options.from_run, options.runs + 1)
        build = machine.build_of(options.programs)
        self.results = Results(options.out, build, machine.processor(), os.environ.get("SEALIFT_BENCH_COMMIT"))
        self.stock = Stock(f"{options.out}/databases")
        self.out, self.programs = options.out, options.programs


if __name__ == "__main__":
    main()
