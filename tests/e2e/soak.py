#!/usr/bin/env python3
"""An hour of faults: four ranks train, and every 20 seconds on average one of them is killed, stopped or made to hang. Nothing may be
lost: all figures and the last checkpoint are those of an undisturbed run, to the bit. Both run at the same time, each on a core of its
own, so that what else happens to the machine happens to both. Prints the effective training time, which is the time of the undisturbed
run over that of the disturbed one, beside the formula 1 - d/T - (T/2 + R)/M of docs/reliability.md.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/soak.py [--steps 13600] [--every 20] [--cores 0,1] [--seed 1]
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

from faulty_runs import Faults, Said, restarts_of, summary
from training_runs import SEED, Run, equal_checkpoints, kill, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
RANKS = 4
DEADLINE = 2  # seconds, of calls
SAVE_EVERY = 20
WORDS = ["train.eval_every=0", "train.batch=8", "train.micro_batch=2", f"train.save_every={SAVE_EVERY}", "train.keep=3", "train.threads=1",
         "model.layers=4", "model.width=96", "model.heads=3", "model.context=127", "model.dropout=0.1", f"comm.deadline={DEADLINE}s",
         "parallel.dp_replicate=2", "parallel.sharding=hybrid_shard", "train.log_every=1"]


def timed(run):
    """Seconds from the first step to the end, and what it said."""
    process = run.start()
    assert run.reaches(1, process), process.communicate()[1]
    began = time.monotonic()
    _, said = process.communicate()
    assert process.returncode == 0, said
    return time.monotonic() - began, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=13600, help="of both runs; the default is an hour of faults on a core of 2.5 GHz")
    parser.add_argument("--every", type=float, default=20, help="seconds between two faults, on average")
    parser.add_argument("--cores", type=lambda text: text.split(","), default=["0", "1"], help="of the undisturbed run and of the disturbed one")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor() as others:
        scratch = pathlib.Path(directory)
        shoal("prepare", "--input", SOURCE / "examples/train_shakespeare/shakespeare.txt", "--tokenizer", "byte", "--validation", "none", "--output", scratch / "tokens")
        words = [*WORDS, f"data.sources=[{scratch / 'tokens'}]"]

        def run(name, core, *launch):
            return Run(scratch, name, *words, f"train.steps={options.steps}", ranks=RANKS, before=("taskset", "-c", options.cores[core]), launch=launch)

        whole = run("whole", 0)
        struck = run("struck", 1, "--max-restarts", "100000", "--grace", "5")
        undisturbed_run = others.submit(timed, whole)
        faults = Faults(chance)
        process = struck.start()
        said = Said(process)
        assert struck.reaches(1, process), said.so_far()
        began = time.monotonic()
        count = 0
        try:
            while process.poll() is None:
                until = time.monotonic() + chance.expovariate(1 / options.every)
                while time.monotonic() < until and process.poll() is None:
                    time.sleep(0.02)  # until the next fault
                if process.poll() is not None or struck.last_step() > options.steps - 2 * SAVE_EVERY:
                    break
                count += 1
                faults.strike(struck, process, said, count, chance.choice(["kill", "kill", "stop", "hang"]))
                if count % 10 == 0:
                    print(f"{time.monotonic() - began:6.0f} s: {count} faults, step {struck.last_step()} of {options.steps}", flush=True)
            process.wait()
        finally:
            disturbed = time.monotonic() - began
            kill(process)
        undisturbed, said_whole = undisturbed_run.result()
        print(f"undisturbed: {undisturbed:.0f} s")
        same = whole.figures() == struck.figures() and len(whole.figures()) == options.steps
        weights, shown = equal_checkpoints(whole.directory, struck.directory)
        stall = statistics.mean(float(x) for x in re.findall(r"stood still for ([\d.]+) s", said_whole))
        between = SAVE_EVERY * undisturbed / options.steps
        mean_time = disturbed / count
        formula = 1 - stall / between - (between / 2 + statistics.mean(faults.again)) / mean_time
        print(f"{count} faults in {disturbed:.0f} s, one every {mean_time:.1f} s; {len(restarts_of(struck))} restarts; right rank named {faults.named} times")
        print("; ".join(f"{kind}: {len(times)}, noticed {summary(times)}" for kind, times in faults.seen.items()))
        print(f"steps again: {summary(faults.again)}")
        print(f"effective training time {undisturbed / disturbed:.3f}, by the formula {formula:.3f} (d {stall * 1e3:.1f} ms, T {between:.2f} s, R {statistics.mean(faults.again):.2f} s, M {mean_time:.1f} s)")
        print("all figures and the last checkpoint are equal to the bit" if same and weights else f"DIFFERENT: figures equal: {same}\n{shown}")
        return 0 if process.returncode == 0 and same and weights and faults.named == count else 1


if __name__ == "__main__":
    sys.exit(main())
