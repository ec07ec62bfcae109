#!/usr/bin/env python3
"""Runs whose ranks are killed or stopped at random are started again by `shoal launch --max-restarts`, and have the figures and the
last checkpoint of runs that were left alone, to the bit. Prints how soon a fault was noticed, and how soon there were steps again.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/restart_test.py [--faults 50] [--kind stop] [--deadline 2]
"""
import argparse
import os
import pathlib
import random
import signal
import sys
import tempfile

from faulty_runs import Faults, Said, restarts_of, summary
from training_runs import ENDLESS, PATIENCE, SAVES_EVERY_STEP, REQUEUE, SEED, Run, goes_until, is_alike, kill, ranks_of, shoal, stop

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
LAYOUTS = [
    (4, ["parallel.tp=2", "parallel.pp=2"]),
    (3, ["parallel.sharding=full_shard", "train.precision=bf16"]),
    (4, ["parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"]),
    (3, ["parallel.pp=3"]),
    (2, ["parallel.tp=2"]),
]
COMMON = ["train.eval_every=0", "train.batch=7", "train.micro_batch=2", "train.save_every=2", "train.threads=1", "model.layers=3",
          "model.width=24", "model.heads=3", "model.context=17", "model.dropout=0.1", ENDLESS]
LAST = 5  # steps after the last fault


def gives_up(scratch, words):
    """A job that always dies before its first checkpoint is given up. What it said, if that is not so."""
    run = Run(scratch, "hopeless", *words, "train.save_every=0", ranks=2, launch=("--max-restarts", "1000"))
    process = run.start()
    said = Said(process)
    try:
        for _ in range(3):
            run.reaches(2, process)
            os.kill(ranks_of(process)[1], signal.SIGKILL)
            said.wait_for("^launch: rank 1")
            (run.directory / "metrics.csv").unlink()  # its steps so far must not be taken for the next ones
        process.wait(timeout=PATIENCE)
    finally:
        kill(process)
    return None if process.returncode == 76 else f"exit code {process.returncode}, not 76: {said.so_far()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=50, help="in all")
    parser.add_argument("--kind", choices=["kill", "stop"], help="of all faults; without it every third one stops a rank, the others kill one")
    parser.add_argument("--deadline", type=int, default=20, help="seconds, of calls: 2 on a host that does nothing else")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    faults = Faults(random.Random(options.seed))
    common = [*COMMON, f"comm.deadline={options.deadline}s"]
    silence = min(options.deadline, 5)  # after which a rank that stopped is missed
    wrong = 0
    shares = [len(range(i, options.faults, len(LAYOUTS))) for i in range(len(LAYOUTS))]
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        shoal("prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--validation", "none", "--output", scratch / "tokens")
        done = 0
        for number, (share, (ranks, sets)) in enumerate(zip(shares, LAYOUTS)):
            if share == 0:
                continue
            words = [f"data.sources=[{scratch / 'tokens'}]", *common, *sets]
            whole = Run(scratch, f"whole{number}", *words, *SAVES_EVERY_STEP, ranks=ranks)
            struck = Run(scratch, f"struck{number}", *words, ranks=ranks, launch=("--max-restarts", "1000"))
            process = struck.start()
            said = Said(process)
            try:
                for fault in range(1, share + 1):
                    faults.strike(struck, process, said, fault, options.kind or ("stop" if done % 3 == 2 else "kill"))
                    done += 1
                struck.reaches(struck.last_step() + LAST, process)
                steps = stop(struck, process)
            finally:
                kill(process)
            goes_until(whole, steps)
            same, difference = is_alike(struck, whole, steps)
            good = process.returncode == REQUEUE and same and len(restarts_of(struck)) == share
            wrong += not good
            print(f"{'ok' if good else 'FAILED'}: {ranks} ranks, {' '.join(sets)}: {share} faults in {steps} steps", flush=True)
            if not good:
                print(f"exit code {process.returncode}, restarts {len(restarts_of(struck))}, {difference}{said.so_far()}")
        storm = gives_up(scratch, [f"data.sources=[{scratch / 'tokens'}]", *common])
        print(storm or "ok: a job that always fails is given up", flush=True)
        wrong += storm is not None
    # A kill is noticed by its connections, which is sooner than silence; a silence counts from a beat that was seen, and others hear of it
    # at one of theirs.
    slow = (max(faults.seen["kill"], default=0) > silence / 2 or max(faults.seen["stop"], default=0) > 1.5 * silence + 2
            or max(faults.again, default=0) > 2 * silence + 10)
    print(f"noticed: kills {summary(faults.seen['kill'])}; stops {summary(faults.seen['stop'])} with a deadline of {options.deadline} s")
    print(f"steps again: {summary(faults.again)}; the right rank was named {faults.named} times of {done}")
    return 1 if wrong or slow or faults.named != done else 0


if __name__ == "__main__":
    sys.exit(main())
