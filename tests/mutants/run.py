#!/usr/bin/env python3
"""Faults that are made on purpose, one at a time: does `shoal verify --random` find each of them, and how soon?

    tests/mutants/run.py                       # all of them: half an hour and more
    tests/mutants/run.py 07 muon --seed 3      # those whose name has one of these
    tests/mutants/run.py --check               # only whether each patch still applies
    tests/mutants/run.py --gate 3              # does turn 3 of .ci/run find each of them, and by which test?

A mutant is a patch NN-name.patch beside this file. Above its first diff it says what is wrong and what a run would have of it, and

    class: 7             # which kind of fault it is: one of CLASSES
    hunt: resume         # optional: only layouts that go on from a checkpoint of another one show it

The sources are copied to a tree of their own, which is built without unity files: a mutant compiles one or a few of them. Nothing
may be found there before the first patch. Then each is applied, built, hunted and taken back.

Exit codes: 0 when all are found, 1 when one survives or does not build, 77 without git.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOUND, NOTHING = 17, 0  # exit codes of the hunt
# A finding of a small hunt is told soon, and a hang takes its deadline: hunts grow until they find something.
FIRST_CASES, GROWTH = 12, 3
SECONDS_OF_CASE = 30  # more than the deadline of ranks that wait for ever
CASES_OF_SHRINKING = 60  # more than a finding is tried with, smaller and smaller; each try of a hang waits for its deadline
# What other trainers got wrong when they combined layouts. Numbers are for patches to name; 8 is for experts, 14, 17 and 19 are
# not of a kind that a comparison of steps can see.
CLASSES = {
    1: "a sum of partial gradients is missing",
    2: "a sum is an average",
    3: "a rank's term of the loss is wrong",
    4: "ranks divide by their own denominators",
    5: "something is counted over the wrong axes",
    6: "a special size or number of micro-batches",
    7: "the norm counts too much or too little",
    9: "other random numbers or weights than were meant",
    10: "a checkpoint's pieces in the wrong places",
    11: "a part of the state is not restored",
    12: "samples left out or seen twice",
    13: "a sum in low precision",
    15: "a transfer of a pipeline, or its buffer",
    16: "a part of a matrix is turned, not the matrix",
    18: "ranges of the optimizer overlap or have holes",
    20: "a place of rows, documents or columns",
}


class Mutant:
    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.header = path.read_text().split("\ndiff --git ")[0]
        kind = re.search(r"^class: (\d+)$", self.header, re.M)
        if not kind or int(kind.group(1)) not in CLASSES:
            sys.exit(f"FAILED: {path.name} has no line 'class: N' with one of {sorted(CLASSES)} above its first diff")
        self.kind = int(kind.group(1))
        self.resumes = re.search(r"^hunt: resume$", self.header, re.M) is not None


def git_apply(mutant, tree, *options):
    """What git says against it, or nothing. `tree` may lie in a repository, whose paths it must not take for its own."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    done = subprocess.run(["git", "apply", *options, mutant.path], cwd=tree, env=environment, capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def check(mutants):
    wrong = [f"{mutant.path.name}: {text}" for mutant in mutants if (text := git_apply(mutant, ROOT, "--check"))]
    for text in wrong:
        print(f"FAILED: {text}", end="")
    print(f"{len(mutants) - len(wrong)} of {len(mutants)} mutants apply")
    return 1 if wrong else 0


# Tests of the gate that run steps, in the order in which they are tried.
TESTS_OF_STEPS = ["model_test", "optim_test", "train_test", "volume_test", "executor_test", "parallel_calls_test", "dry_run_test", "feed_test",
                  "hunt_test", "unit_group_test", "saver_test", "grid_test", "parallel_test", "parallel_generate_test", "reshard_test", "step_replay_test",
                  "replica_check_test", "tamper_test", "verify_test", "numeric_faults_test", "train_test_e2e", "oracle_training_test",
                  "example_change_layout"]


class Tree:
    """A copy of the sources, and what is built from it."""

    def __init__(self, directory, jobs):
        self.source, self.binary, self.jobs = directory / "source", directory / "build", jobs

    def copy_sources(self):
        """Files that are as they were keep their time, so that little is built again."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            old, new = ROOT / name, self.source / name
            if not old.is_file() or (new.is_file() and new.read_bytes() == old.read_bytes()):
                continue
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(old, new)  # a launcher stays executable
        dependencies = self.source / ".deps"
        if (ROOT / ".deps").exists() and not dependencies.exists():
            dependencies.symlink_to(ROOT / ".deps")

    def configure(self):
        run_or_stop(["cmake", "-S", self.source, "-B", self.binary, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DSHOAL_UNITY=OFF", "-DSHOAL_TESTS=OFF"])

    def build(self):
        """What the compiler says against it, or nothing."""
        done = subprocess.run(["nice", "-n", "10", "cmake", "--build", self.binary, "--target", "shoal-engine", "-j", str(self.jobs)],
                              capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode != 0 else ""

    def hunt(self, cases, seed, resumes):
        """The first finding as the number of its case, what differs and the tensor that shows it, or nothing."""
        command = [self.binary / "shoal-engine", "verify", "--random", str(cases), "--seed", str(seed), "--stop-at-first"]
        done = subprocess.run(["nice", "-n", "10", *command, *(["--resume"] if resumes else [])],
                              capture_output=True, text=True, timeout=(cases + CASES_OF_SHRINKING) * SECONDS_OF_CASE)
        if done.returncode == NOTHING:
            return None
        finding = re.search(r"^case (\d+) of seed \d+: (.*)$", done.stdout, re.M)
        if done.returncode != FOUND or not finding:
            sys.exit(f"FAILED: the hunt ends with {done.returncode}: {done.stdout}{done.stderr}")
        case = re.search(r"^  shoal (verify --ranks .*)$", done.stdout, re.M)
        tensor = "" if resumes or not case else self.tensor_of(case.group(1))
        return int(finding.group(1)), finding.group(2), tensor

    def tensor_of(self, case):
        """Whose gradient is wrong in the first step, or else whose weight: in later ones everything differs."""
        done = subprocess.run(["nice", "-n", "10", self.binary / "shoal-engine", *case.split(), "--steps", "1", "--json",
                               "--set", f"comm.deadline={SECONDS_OF_CASE}s"],
                              capture_output=True, text=True, timeout=10 * SECONDS_OF_CASE)
        if done.returncode not in (NOTHING, FOUND):
            return ""
        shown = json.loads(done.stdout)
        for what in ("gradient", "weight"):
            if what not in shown["allowed"]:  # in fp32 and bf16 each tensor has a bound of its own
                return ""
            differences = {name: math.inf if difference is None else difference for name, difference in shown[f"{what}s"].items()}
            wrong = {name: difference for name, difference in differences.items() if difference > shown["allowed"][what]}
            if wrong:
                return f"{what} of {max(wrong, key=wrong.get)}, the worst of {len(wrong)} in step 1"
        return "no tensor in step 1"


class GateTree(Tree):
    """The same with the programs of the gate's tests."""

    def __init__(self, directory, jobs, turn):
        super().__init__(directory, jobs)
        self.binary = self.source / "build" / "release"
        self.environment = {**os.environ, "CI_TURN": str(turn), "OMP_NUM_THREADS": "1"}
        tree_hash = subprocess.run(["git", "rev-parse", "HEAD:shoal"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        self.environment.setdefault("SHOAL_SEED", str(int(tree_hash[:7], 16)))

    def configure(self):
        run_or_stop(["cmake", "--preset", "release", "-S", self.source, "-DSHOAL_TESTS=ON"], cwd=self.source)
        run_or_stop(["tools/gate.py", "select", "release"], cwd=self.source, env=self.environment)
        patterns = [(self.binary / "gate" / part).read_text() for part in ("first", "ranks", "rest")]
        chosen = {name for pattern in patterns for name in pattern.removeprefix("^(").removesuffix(")$").split("|")}
        self.tests = [name for base in TESTS_OF_STEPS for name in sorted(chosen) if re.fullmatch(rf"{base}(_\d+of\d+)?", name)]

    def build(self):
        done = subprocess.run(["nice", "-n", "10", "ninja", "-C", self.binary, "-j", str(self.jobs), "shoal", "shoal-prepare", "shoal-engine",
                               "comm_tests", "model_tests", "parallel_tests"], capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode != 0 else ""

    def finding_test(self):
        """The first test that fails, or nothing."""
        for name in self.tests:
            done = subprocess.run(["ctest", "--test-dir", self.binary, "-R", f"^{name}$", "--timeout", "300"], capture_output=True, env=self.environment)
            if done.returncode != 0:
                return name
        return None


def run_or_stop(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def sizes(most):
    """Of hunts: from few cases to `most`."""
    cases = FIRST_CASES
    while cases < most:
        yield cases
        cases *= GROWTH
    yield most


def hunt_for(mutant, tree, options):
    """A row of the table behind the mutant's name, and whether it was found."""
    began = time.monotonic()
    if text := git_apply(mutant, tree.source):
        return f"does not apply: {text.strip()}", False
    try:
        if text := tree.build():
            return f"does not build:\n{text}", False
        for cases in sizes(options.cases):
            if finding := tree.hunt(cases, options.seed, mutant.resumes):
                number, what, tensor = finding
                return f"{number + 1:>6}  {time.monotonic() - began:>4.0f}  {what}{tensor and f'; {tensor}'}", True
        return f"survives {options.cases} cases of seed {options.seed}, {time.monotonic() - began:.0f} s", False
    finally:
        if text := git_apply(mutant, tree.source, "--reverse"):
            sys.exit(f"FAILED: {mutant.path.name} cannot be taken back: {text}")


def gate_of(mutant, tree, _options):
    """As hunt_for, for the tests of the gate."""
    began = time.monotonic()
    if text := git_apply(mutant, tree.source):
        return f"does not apply: {text.strip()}", False
    try:
        if text := tree.build():
            return f"does not build:\n{text}", False
        name = tree.finding_test()
        return f"{'':>6}  {time.monotonic() - began:>4.0f}  {name or 'survives'}", name is not None
    finally:
        if text := git_apply(mutant, tree.source, "--reverse"):
            sys.exit(f"FAILED: {mutant.path.name} cannot be taken back: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of mutants; all without any")
    parser.add_argument("--check", action="store_true", help="only whether each patch applies to the sources")
    parser.add_argument("--gate", type=int, metavar="TURN", help="run the tests of this turn of .ci/run instead of hunts")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants", metavar="DIR", help="where the copy is, build/mutants without it")
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="random cases after which a mutant has survived")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the random cases")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="compilers at a time")
    options = parser.parse_args()
    if shutil.which("git") is None:
        print("skipped: there is no git")
        return 77

    mutants = [Mutant(path) for path in sorted(HERE.glob("*.patch"))]
    if options.names:
        mutants = [mutant for mutant in mutants if any(name in mutant.name for name in options.names)]
    if not mutants:
        sys.exit("FAILED: there is no such mutant")
    if options.check:
        return check(mutants)

    tree = Tree(options.build.resolve(), options.jobs) if options.gate is None else GateTree(options.build.resolve(), options.jobs, options.gate)
    tree.copy_sources()
    tree.configure()
    if text := tree.build():
        sys.exit(f"FAILED: the sources do not build:\n{text}")
    if options.gate is not None:
        find = gate_of
        if name := tree.finding_test():
            sys.exit(f"FAILED: {name} fails without any fault")
    else:
        find = hunt_for
        for resumes in sorted({mutant.resumes for mutant in mutants}):
            if finding := tree.hunt(min(options.cases, FIRST_CASES * GROWTH), options.seed, resumes):
                sys.exit(f"FAILED: without any fault, case {finding[0]} of seed {options.seed}: {finding[1]}")

    width = max(len(mutant.name) for mutant in mutants)
    print(f"{'mutant':<{width}}  class   cases     s  found by the last of them", flush=True)
    survivors = []
    for mutant in mutants:
        row, found = find(mutant, tree, options)
        print(f"{mutant.name:<{width}}  {mutant.kind:>5}  {row}", flush=True)
        if not found:
            survivors.append(mutant.name)
    for kind in sorted({mutant.kind for mutant in mutants}):
        print(f"class {kind:>2}: {CLASSES[kind]}")
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants found" + "".join(f"\n  not found: {name}" for name in survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
