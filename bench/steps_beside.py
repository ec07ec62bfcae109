#!/usr/bin/env python3
"""Steps of two builds of shoal beside each other: the median step of a run, paired.

    bench/steps_beside.py --a build/release/shoal --b OLD/shoal --data TOKENS [--ranks 2] [--set parallel.pp=2 ...]

Both train a small model from scratch, in turn; a round gives one ratio of their median steps (below 1: --a is faster). With --set-a both may
be the same build: what a setting costs.
"""
import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from train_beside_pytorch import quartiles  # noqa: E402

MODEL = ["model.layers=6", "model.width=320", "model.heads=5", "model.context=127",
         "train.steps=12", "train.batch=7", "train.eval_every=0", "train.save_every=0", "train.sample_tokens=0"]


def median_step(shoal, sets, arguments):
    """Seconds; the first two steps of a process make its buffers and threads."""
    with tempfile.TemporaryDirectory() as directory:
        launcher = ["launch", "--ranks", str(arguments.ranks), "--"] if arguments.ranks > 1 else []
        words = [shoal, *launcher, "train"]
        for setting in [*MODEL, f"data.sources=[{arguments.data}]", f"run.directory={directory}", *sets]:
            words += ["--set", setting]
        environment = dict(os.environ)
        if arguments.ranks > 1:
            environment["OMP_NUM_THREADS"] = "1"
        subprocess.run(words, check=True, capture_output=True, env=environment)
        (metrics,) = pathlib.Path(directory).glob("*/metrics.csv")
        with open(metrics) as lines:
            return statistics.median(float(row["dt"]) for row in list(csv.DictReader(lines))[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", required=True)
    parser.add_argument("--b", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--set-a", action="append", default=[])
    arguments = parser.parse_args()
    rounds = []
    for number in range(arguments.rounds):
        sides = {"a": (arguments.a, arguments.set + arguments.set_a), "b": (arguments.b, arguments.set)}
        times = {name: median_step(*sides[name], arguments) for name in ("ab" if number % 2 == 0 else "ba")}
        rounds.append([times["a"], times["b"]])
    ratios = [a / b for a, b in rounds]
    low, middle, high = quartiles(ratios)
    a, b = (1e3 * statistics.median(side) for side in zip(*rounds))
    print(f"{middle:.3f} ({low:.3f} .. {high:.3f}), {len(ratios)} rounds: {a:.0f} ms and {b:.0f} ms")


if __name__ == "__main__":
    main()
