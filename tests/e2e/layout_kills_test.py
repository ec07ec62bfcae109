#!/usr/bin/env python3
"""Runs on several ranks that are killed at random steps and resumed have the figures and the last checkpoint of runs that were
not, to the bit.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/layout_kills_test.py [--kills 20]
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile

from training_runs import SEED, Run, equal_checkpoints, kill, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
LAYOUTS = [
    (2, ["parallel.sharding=no_shard"]),
    (2, ["parallel.sharding=optimizer"]),
    (2, ["parallel.sharding=full_shard"]),
    (4, ["parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"]),
    (4, ["parallel.tp=2", "parallel.pp=2"]),
    (3, ["parallel.pp=3"]),
    # Masters beside the weights, and in fp16 the scale of gradients, are part of what is gone on with.
    (3, ["parallel.sharding=full_shard", "train.precision=bf16"]),
    (2, ["parallel.tp=2", "train.precision=fp16"]),
]
COMMON = ["train.eval_every=0", "train.batch=7", "train.micro_batch=2", "train.save_every=2", "train.threads=1",
          "model.layers=3", "model.width=24", "model.heads=3", "model.context=17", "model.dropout=0.1"]


def kill_after(run, steps):
    """Whether it was still running then."""
    process = run.start()
    try:
        return run.reaches(steps, process)
    finally:
        kill(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=2, help="of each layout's run")
    options = parser.parse_args()
    steps = max(20, 4 * options.kills + 10)
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        shoal("prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--validation", "none",
              "--output", scratch / "tokens")
        for number, (ranks, sets) in enumerate(LAYOUTS):
            whole, killed = (Run(scratch, f"{name}{number}", f"train.steps={steps}", f"data.sources=[{scratch / 'tokens'}]",
                                 *COMMON, *sets, ranks=ranks) for name in ("whole", "killed"))
            whole.finish()
            kills = 0
            while kills < options.kills and kill_after(killed, len(killed.rows()) + chance.randint(2, 5)):
                kills += 1
            killed.finish()
            same = whole.figures() == killed.figures() and len(whole.figures()) == steps
            weights, shown = equal_checkpoints(whole.directory, killed.directory)
            good = same and weights
            wrong += not good or kills == 0
            print(f"{'ok' if good else 'FAILED'}: {ranks} ranks, {' '.join(sets)}: killed {kills} times", flush=True)
            if not weights:
                print(shown)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
