#!/usr/bin/env python3
"""Runs on several ranks that are killed at random steps and resumed have the figures and the last checkpoint of runs that were
not, to the bit.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/layout_kills_test.py [--kills 20]
"""
import argparse
import csv
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, BINARY = (pathlib.Path(os.environ[name]).resolve() for name in ("SHOAL_SOURCE_DIR", "SHOAL_BINARY_DIR"))
SHOAL = BINARY / "shoal"
LAYOUTS = [
    (2, ["parallel.sharding=no_shard"]),
    (2, ["parallel.sharding=optimizer"]),
    (2, ["parallel.sharding=full_shard"]),
    (4, ["parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"]),
    (4, ["parallel.tp=2", "parallel.pp=2"]),
    (3, ["parallel.pp=3"]),
]
COMMON = ["train.eval_every=0", "train.batch=7", "train.micro_batch=2", "train.save_every=2", "train.threads=1",
          "train.init_from=resume", "model.layers=3", "model.width=24", "model.heads=3", "model.context=17", "model.dropout=0.1"]


class Run:
    def __init__(self, scratch, name, ranks, steps, sets):
        self.file, self.name = scratch / "runs" / name / "metrics.csv", name
        words = [f"train.steps={steps}", f"data.sources=[{scratch / 'tokens'}]", f"run.directory={scratch / 'runs'}", f"run.name={name}", *COMMON, *sets]
        self.command = [SHOAL, "launch", "--ranks", str(ranks), "--", "train", *(word for text in words for word in ("--set", text))]

    def start(self):
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self):
        process = self.start()
        _, errors = process.communicate(timeout=120)
        if process.returncode != 0:
            sys.exit(f"FAILED: {self.name}: {errors}")

    def figures(self):
        if not self.file.exists():
            return []
        with self.file.open() as file:
            return [(row["step"], row["loss"], row["grad_norm"]) for row in csv.DictReader(file)]

    def kill_after(self, steps):
        """Whether it was still running then."""
        process = self.start()
        while process.poll() is None and len(self.figures()) < steps:
            time.sleep(0.005)
        if process.poll() is not None:
            return False
        os.killpg(process.pid, signal.SIGKILL)  # the kernel kills the ranks of a launcher that is gone
        process.wait()
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=2, help="of each layout's run")
    options = parser.parse_args()
    steps = max(20, 4 * options.kills + 10)
    seed = int(time.time())
    print(f"seed {seed}")
    chance = random.Random(seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        subprocess.run([SHOAL, "prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--output", scratch / "tokens"],
                       check=True, capture_output=True)
        for number, (ranks, sets) in enumerate(LAYOUTS):
            whole, killed = (Run(scratch, f"{name}{number}", ranks, steps, sets) for name in ("whole", "killed"))
            whole.finish()
            kills = 0
            while kills < options.kills and killed.kill_after(len(killed.figures()) + chance.randint(2, 5)):
                kills += 1
            killed.finish()
            same = whole.figures() == killed.figures() and len(whole.figures()) == steps
            compared = subprocess.run([SHOAL, "checkpoint", "diff", whole.file.parent, killed.file.parent], capture_output=True, text=True)
            # The runs' names are all that may differ.
            weights = "values that differ  1\n" in compared.stdout and "tensors that differ 0;" in compared.stdout
            good = same and weights
            wrong += not good or kills == 0
            print(f"{'ok' if good else 'FAILED'}: {ranks} ranks, {' '.join(sets)}: killed {kills} times", flush=True)
            if not weights:
                print(compared.stdout, compared.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
