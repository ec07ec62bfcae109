#!/usr/bin/env python3
"""Decides which tests .ci/run builds and runs. The gate has 12 turns; a test may belong to each of them or to every K-th.

    tools/gate.py turn                    # turn of this commit
    tools/gate.py report                  # the turn, the base, and the age of the last green nightly run
    tools/gate.py trees                   # trees with ThreadSanitizer or fake GPUs in this turn
    tools/gate.py select TREE             # writes build/TREE/gate/: the programs of unit tests (targets.first) and of all tests (targets),
                                          # the tests as patterns for ctest -R: first (unit tests), changed, ranks, rest; and the names
                                          # of live tests (live) and the CPU seconds of tests that joined the turn (joined)
    tools/gate.py objects TREE            # object files of the sources that changed last, to be compiled first
    tools/gate.py units < UNITS           # the files that clang-tidy reads in this turn
    tools/gate.py run TREE PART... [--pause GROUP]
                                          # runs these parts of a selection; a live test that failed passes if it passes three times alone,
                                          # while the process group GROUP is stopped, and each other failure is final
    tools/gate.py names TREE              # its live tests
    tools/gate.py compare TREE...         # tests that took more CPU seconds than planned
    tools/gate.py record TREE...          # CPU seconds measured in build/TREE and of the steps of .ci/run into tests/costs.tsv
    tools/gate.py table                   # planned CPU seconds of all turns
    tools/gate.py check                   # tests/live.txt and tests/quarantine.tsv are in order

CI_TURN=N replaces the turn, CI_BASE=COMMIT the base: the commit of the newest green row in docs/nightly.tsv. Tests of directories
that changed since the base join the turn while CPU_BUDGET lasts; the others are named and left to tools/nightly.sh.
"""
import argparse
import contextlib
import csv
import datetime
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COSTS = ROOT / "tests" / "costs.tsv"
LEDGER = ROOT / "docs" / "nightly.tsv"
QUARANTINE = ROOT / "tests" / "quarantine.tsv"
STEPS = ROOT / "build" / "steps.tsv"
TURNS = 12
CPU_BUDGET = 2000  # seconds of a turn, as tests/costs.tsv counts them: 30 minutes on a machine with two cores that is 1.6 times as slow
RECENT = 4  # sources that are compiled first
MOST_LIVE = 25
LIVE_RUNS = 3  # of a live test that has failed
TESTS_FAILED = 8  # exit code of ctest
QUARANTINE_DAYS = 14
UNKNOWN_COST = 10  # of a test that is not in tests/costs.tsv
# Trees that take turns, with the directories whose changes let a tree join.
ALTERNATING = {
    "tsan": (0, ["shoal/core", "shoal/cluster", "shoal/data"]),
    "cuda": (1, ["shoal/checkpoint", "shoal/comm", "shoal/feed", "shoal/model", "shoal/optim", "shoal/parallel", "shoal/plan/passes", "shoal/train",
                 "tests/softgpu", "tests/testbed/softcuda"]),
}
# A source directory is tested in the directory of the same name below tests/, and in these.
TESTED_IN = {
    "app": ["tests/e2e"],
    "configs": ["tests/e2e"],
    "course": ["tests/e2e"],
    "packaging": ["tests/package"],
    "shoal/comm": ["tests/comm", "tests/softgpu"],
    "tests/testbed/softcuda": ["tests/softgpu"],
}


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@functools.cache
def turn():
    if "CI_TURN" in os.environ:
        return int(os.environ["CI_TURN"]) % TURNS
    seconds = int(git("log", "-1", "--format=%ct").stdout)
    return (seconds // 21600 + seconds // 86400) % TURNS


def is_in_turn(share, number):
    """`share`: every, nightly, or I/K for turns whose number modulo K is I."""
    if "/" not in share:
        return share == "every"
    index, count = map(int, share.split("/"))
    return number % count == index


def rows_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))


@functools.cache
def base():
    """Empty when there is none, or when this clone does not have it."""
    green = [row["commit"] for row in rows_of(LEDGER) if row["result"] == "green"]
    commit = os.environ.get("CI_BASE") or (green[-1] if green else "")
    return commit if commit and git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0 else ""


@functools.cache
def changed_files():
    if not base():
        return []
    return git("diff", "--name-only", base()).stdout.split()


def is_below(path, directories):
    return any(path == directory or path.startswith(directory + "/") for directory in directories)


@functools.cache
def changed_test_directories():
    found = set()
    for path in changed_files():
        parts = path.split("/")
        found.add("/".join(parts[:-1]))
        if parts[0] == "shoal" and len(parts) > 2:
            found.add(f"tests/{parts[1]}")
        for source, directories in TESTED_IN.items():
            if is_below(path, [source]):
                found.update(directories)
    return found


class Test:
    def __init__(self, tree, entry):
        properties = {item["name"]: item["value"] for item in entry["properties"]}
        labels = properties.get("LABELS", [])
        self.tree, self.name = tree, entry["name"]
        self.kinds = {label for label in labels if ":" not in label}
        self.directory = next((label[5:] for label in labels if label.startswith("from:")), "")
        self.required = properties.get("REQUIRED_FILES", [])
        self.words = " ".join(entry.get("command", []))
        self.has_ranks = properties.get("PROCESSORS", 1) > 1
        self.share = "every"
        if self.kinds & {"nightly", "long"} or (tree == "release" and "sanitized" in self.kinds):
            self.share = "nightly"
        else:
            self.share = next((label[5:] for label in labels if label.startswith("turn:")), "every")

    @property
    def cost(self):
        return costs().get((self.tree, self.name), UNKNOWN_COST)

    @property
    def is_changed(self):
        named = [path for path in changed_files() if path.startswith(("docs/", "examples/", "README")) and path.endswith(".md")]
        if any(self.words.endswith(" " + path) for path in named):  # a document
            return True
        return any(is_below(directory, [self.directory]) for directory in changed_test_directories())


@functools.cache
def costs():
    return {(row["tree"], row["name"]): float(row["cpu_seconds"]) for row in rows_of(COSTS)}


def tests_of(tree):
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=ROOT / "build" / tree, capture_output=True, text=True, check=True)
    quarantined = {row["test"] for row in rows_of(QUARANTINE)}
    return [test for test in (Test(tree, entry) for entry in json.loads(shown.stdout)["tests"]) if test.name not in quarantined]


def is_in_tree(row, tree):
    return row["tree"] == tree or (row["tree"] == "step" and row["name"].startswith(f"{tree}:"))


def trees_of_turn(number):
    return [tree for tree, (index, _) in ALTERNATING.items() if number % len(ALTERNATING) == index]


def planned(number):
    """CPU seconds of a turn without changes: tree of tests, or "step" -> seconds."""
    seconds = {}
    absent = ALTERNATING.keys() - set(trees_of_turn(number))
    for row in rows_of(COSTS):
        if is_in_turn(row["turn"], number) and row["tree"] not in absent:
            seconds[row["tree"]] = seconds.get(row["tree"], 0) + float(row["cpu_seconds"])
    return seconds


def trees():
    """The alternating trees of this turn with those that join it because of changes, and the CPU seconds that are left of the budget."""
    number = turn()
    chosen = trees_of_turn(number)
    left = CPU_BUDGET - sum(planned(number).values())
    for tree, (_, directories) in ALTERNATING.items():
        if tree in chosen or not any(is_below(path, directories) for path in changed_files()):
            continue
        cost = sum(float(row["cpu_seconds"]) for row in rows_of(COSTS) if is_in_tree(row, tree) and row["turn"] != "nightly" and
                   (row["tree"] == "step" or is_in_turn(row["turn"], number)))
        if cost <= left:
            chosen.append(tree)
            left -= cost
    return chosen, left


def pattern(tests):
    return "^(" + "|".join(sorted(test.name for test in tests)) + ")$" if tests else ""


def select(tree):
    number = turn()
    tests = tests_of(tree)
    chosen = [test for test in tests if is_in_turn(test.share, number)]
    joined_before = [path for path in ROOT.glob("build/*/gate/joined") if path.parts[-3] != tree]
    left = trees()[1] - sum(float(path.read_text()) for path in joined_before)
    joined, left_out = [], []
    for test in sorted(tests, key=lambda test: test.cost):
        if test in chosen or "long" in test.kinds or "sanitized" in test.kinds or not test.is_changed:
            continue
        if test.cost <= left:
            joined.append(test)
            left -= test.cost
        else:
            left_out.append(test)
    chosen += joined
    first = [test for test in chosen if "unit" in test.kinds]
    changed = [test for test in chosen if test not in first and test.is_changed]
    others = [test for test in chosen if test not in first and test not in changed]

    binary = (ROOT / "build" / tree).resolve()
    output = binary / "gate"
    output.mkdir(parents=True, exist_ok=True)
    for name, part in (("targets.first", first), ("targets", chosen)):
        programs = {str(pathlib.Path(path).relative_to(binary)) for test in part for path in test.required}
        (output / name).write_text("\n".join(sorted(programs)) + "\n" * bool(programs))
    parts = {"first": first, "changed": changed, "ranks": [test for test in others if test.has_ranks],
             "rest": [test for test in others if not test.has_ranks]}
    for name, part in parts.items():
        (output / name).write_text(pattern(part))
    (output / "joined").write_text(f"{sum(test.cost for test in joined):.1f}")
    (output / "live").write_text(" ".join(test.name for test in chosen if "live" in test.kinds))
    print(f"{tree}: turn {number} of {TURNS}, {len(chosen)} of {len(tests)} tests, {sum(test.cost for test in chosen):.0f} CPU s planned")
    if joined:
        print(f"{tree}: joined because of changes since {base()[:12]}: {' '.join(test.name for test in joined)}")
    if left_out:
        print(f"{tree}: changed, but left to tools/nightly.sh: {' '.join(test.name for test in left_out)}")


def units(names):
    """A quarter of the units by turn, and those that changed."""
    changed = {str(ROOT / path) for path in changed_files()}
    for index, name in enumerate(sorted(names)):
        sources = {name} | set(re.findall('#include "(.*)"', pathlib.Path(name).read_text()) if "/tidy/" in name else [])
        if index % 4 == turn() % 4 or sources & changed:
            print(name)


def run_ctest(tree, chosen, *options):
    sys.stdout.flush()
    return subprocess.run(["ctest", "--preset", tree, "-R", chosen, *options], cwd=ROOT).returncode


def signal_group(group, number):
    """Does nothing if there is no such process group any more."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(group, number)


def passes_alone(tree, names, paused):
    """Runs each of the tests three times with nothing else on the machine that the gate has started."""
    signal_group(paused, signal.SIGSTOP)
    try:
        return run_ctest(tree, f"^({'|'.join(names)})$", "-j", "1", "--repeat", f"until-fail:{LIVE_RUNS}") == 0
    finally:
        signal_group(paused, signal.SIGCONT)


def judge_failures(tree, paused):
    """The exit code after a failed run of ctest."""
    logs = ROOT / "build" / tree / "Testing" / "Temporary"
    failed = sorted(line.partition(":")[2] for line in (logs / "LastTestsFailed.log").read_text().splitlines())
    live = (ROOT / "build" / tree / "gate" / "live").read_text().split()  # asking ctest would overwrite its log
    final = [name for name in failed if name not in live]
    if final:
        print(f"==== {tree}: FAILED: {' '.join(final)}")
        return 1
    print(f"\n==== LIVE TESTS FAILED, and run {LIVE_RUNS} times alone: {' '.join(failed)}")
    kept = ROOT / "build" / tree / "live.log"
    with kept.open("ab") as file:
        file.write((logs / "LastTest.log").read_bytes())
    if not passes_alone(tree, failed, paused):
        print(f"==== {tree}: FAILED AGAIN: {' '.join(failed)}")
        return 1
    line = f"LIVE TESTS FAILED ONCE and passed {LIVE_RUNS} times: {' '.join(failed)}; log: {kept.relative_to(ROOT)}"
    print(f"==== {line}")
    with STEPS.open("a") as file:
        file.write(line + "\n")
    return 0


def run(tree, parts, paused):
    cores = os.cpu_count()
    for part in parts:
        chosen = (ROOT / "build" / tree / "gate" / part).read_text()
        if not chosen:
            continue
        jobs = cores + 1 if part == "first" else cores  # unit tests wait for sockets and clocks now and then
        code = run_ctest(tree, chosen, "-j", str(jobs))
        if subprocess.run([ROOT / "tools" / "check_skips.py", ROOT / "build" / tree]).returncode:
            return 1
        if code == TESTS_FAILED:
            code = judge_failures(tree, paused)
        if code:
            return code
    return 0


def table():
    kinds = sorted({row["tree"] for row in rows_of(COSTS)}, key=lambda kind: (kind != "step", kind))
    print("turn  " + "".join(f"{kind:>9}" for kind in kinds) + "    CPU s  minutes on 2 cores")
    for number in range(TURNS):
        seconds = planned(number)
        total = sum(seconds.values())
        print(f"{number:>4}  " + "".join(f"{seconds.get(kind, 0):>9.0f}" for kind in kinds) + f"{total:>9.0f}{total / 120:>10.1f}")


def names_of_live_tests(tree):
    return sorted(test.name for test in tests_of(tree) if "live" in test.kinds)


def measured(tree):
    """Test -> CPU seconds of its last run."""
    path = ROOT / "build" / tree / "costs.tsv"
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: float(seconds) for name, _, seconds in (line.partition("\t") for line in lines)}


def compare(names):
    for tree in names:
        found = measured(tree)
        grown = {name: seconds for name, seconds in found.items() if seconds > 2 * costs().get((tree, name), 0) + 5}
        print(f"{tree}: tests took {sum(found.values()):.0f} CPU s, {sum(costs().get((tree, name), 0) for name in found):.0f} planned")
        for name in sorted(grown, key=grown.get, reverse=True):
            print(f"  {name} took {grown[name]:.0f} CPU s, {costs().get((tree, name), 0):.0f} planned")


def measured_steps():
    """Step of the last gate -> CPU seconds, without the steps that run tests."""
    lines = [line.split("\t") for line in STEPS.read_text().splitlines()] if STEPS.exists() else []
    return {line[0]: float(line[3]) for line in lines if len(line) == 4 and ("build" in line[0] or "tests" not in line[0])}


def share_of_step(name):
    tree = name.partition(":")[0]
    return f"{ALTERNATING[tree][0]}/{len(ALTERNATING)}" if tree in ALTERNATING else "every"


def record(names):
    """Replaces the rows of these trees and of steps by what was measured last, and drops tests that are gone."""
    rows = {(row["tree"], row["name"]): row for row in rows_of(COSTS)}
    for name, seconds in measured_steps().items():
        rows["step", name] = {"tree": "step", "name": name, "turn": share_of_step(name), "cpu_seconds": f"{seconds:.1f}"}
    for tree in names:
        found, tests = measured(tree), tests_of(tree)
        for key in [key for key in rows if key[0] == tree and key[1] not in {test.name for test in tests}]:
            del rows[key]
        for test in tests:
            seconds = found.get(test.name, costs().get((tree, test.name)))
            if seconds is not None:
                rows[tree, test.name] = {"tree": tree, "name": test.name, "turn": test.share, "cpu_seconds": f"{seconds:.1f}"}
    with COSTS.open("w", newline="") as file:
        file.write("# CPU seconds of the steps and tests of .ci/run, and the turns that they belong to. `tools/gate.py record` writes it.\n")
        writer = csv.DictWriter(file, ["tree", "name", "turn", "cpu_seconds"], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def objects(tree):
    """Of the RECENT sources that changed last. A source that is compiled with others in a unity file counts as that file."""
    names = git("log", "-30", "--format=", "--name-only").stdout.split()
    recent = [path for path in dict.fromkeys(map(ROOT.joinpath, names)) if path.suffix == ".cpp" and path.exists()][:RECENT]
    found = {}
    for entry in json.loads((ROOT / "build" / tree / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        sources = re.findall('#include "(.*)"', path.read_text()) if "Unity" in path.parts else [path]
        if any(pathlib.Path(source) in recent for source in sources):
            found[entry["command"].partition(" -o ")[2].split()[0]] = None
    print("\n".join(found))


def report():
    rows = [row for row in rows_of(LEDGER) if row["result"] == "green"]
    total = sum(planned(turn()).values())
    print(f"turn {turn()} of {TURNS}, {total:.0f} CPU s planned, {total / 120:.1f} minutes on 2 cores; changes count from {base()[:12] or 'nowhere'}")
    if not rows:
        print("no green nightly run in docs/nightly.tsv")
    else:
        age = datetime.date.today() - datetime.date.fromisoformat(rows[-1]["date"][:10])
        print(f"the last green nightly part, {rows[-1]['part']}, is {age.days} days old")


def check():
    """Problems of the lists, one per line."""
    problems = []
    live_tests = [line for line in (ROOT / "tests" / "live.txt").read_text().splitlines() if line and not line.startswith("#")]
    if len(live_tests) > MOST_LIVE:
        problems.append(f"tests/live.txt has {len(live_tests)} tests, more than {MOST_LIVE}")
    if live_tests != sorted(set(live_tests)):
        problems.append("tests/live.txt is not sorted, or names a test twice")
    for row in rows_of(QUARANTINE):
        age = (datetime.date.today() - datetime.date.fromisoformat(row["since"])).days
        if age > QUARANTINE_DAYS:
            problems.append(f"tests/quarantine.tsv: {row['test']} is there for {age} days: repair or remove the test")
        if not row["reason"]:
            problems.append(f"tests/quarantine.tsv: {row['test']} has no reason")
    for problem in problems:
        print(f"gate: {problem}", file=sys.stderr)
    print(f"gate: {len(live_tests)} live tests, {len(rows_of(QUARANTINE))} in quarantine, {len(problems)} problems")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"turn": lambda: print(turn()), "report": report, "trees": lambda: print(*trees()[0]), "table": table, "check": check,
                "units": lambda: units(sys.stdin.read().split())}
    of_tree = {"select": select, "objects": objects, "names": lambda tree: print("\n".join(names_of_live_tests(tree)))}
    of_trees = {"compare": compare, "record": record}
    parser.add_argument("command", choices=[*commands, *of_tree, *of_trees, "run"])
    parser.add_argument("trees", nargs="*", metavar="TREE")
    parser.add_argument("--pause", type=int, metavar="GROUP", help="process group to stop while a live test runs again")
    options = parser.parse_args()
    if options.command == "run":
        return run(options.trees[0], options.trees[1:], options.pause)
    if options.command in of_tree:
        return of_tree[options.command](*options.trees)
    if options.command in of_trees:
        return of_trees[options.command](options.trees)
    return commands[options.command]()


if __name__ == "__main__":
    sys.exit(main())
