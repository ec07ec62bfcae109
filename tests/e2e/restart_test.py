#!/usr/bin/env python3
"""Runs whose ranks are killed or stopped at random are started again by `shoal launch --max-restarts`, and have the figures and the
last checkpoint of runs that were left alone, to the bit. Prints how soon a fault was noticed, and how soon there were steps again.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/restart_test.py [--faults 50]
"""
import argparse
import json
import os
import pathlib
import queue
import random
import re
import signal
import statistics
import sys
import tempfile
import threading
import time

from training_runs import PATIENCE, Run, equal_checkpoints, kill, ranks_of, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
DEADLINE = 2  # seconds, of collectives
LAYOUTS = [
    (4, ["parallel.tp=2", "parallel.pp=2"]),
    (3, ["parallel.sharding=full_shard", "train.precision=bf16"]),
    (4, ["parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"]),
    (3, ["parallel.pp=3"]),
    (2, ["parallel.tp=2"]),
]
COMMON = ["train.eval_every=0", "train.batch=7", "train.micro_batch=2", "train.save_every=2", "train.threads=1", "model.layers=3",
          "model.width=24", "model.heads=3", "model.context=17", "model.dropout=0.1", f"comm.deadline={DEADLINE}s"]


class Said:
    """What a process says on standard error, with the time of each line."""

    def __init__(self, process):
        self.lines = queue.Queue()
        self.all = []
        threading.Thread(target=self._read, args=[process.stderr], daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.put((time.monotonic(), line))

    def so_far(self):
        while not self.lines.empty():
            self.all.append(self.lines.get()[1])
        return "".join(self.all)

    def wait_for(self, pattern):
        until = time.monotonic() + PATIENCE
        while True:
            moment, line = self.lines.get(timeout=max(0.1, until - time.monotonic()))
            self.all.append(line)
            if re.search(pattern, line):
                return moment, line


def restarts_of(run):
    path = run.directory / "texts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [row for row in rows if row["tag"] == "restart"]


def steps_again(run, number, process, said):
    """Waits for the first step after that restart."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        told = restarts_of(run)
        if len(told) >= number:
            rows = run.rows()
            if rows and int(rows[-1]["step"]) > int(re.search(r"after step (\d+)", told[number - 1]["text"])[1]):
                return
        time.sleep(0.005)
    raise AssertionError(f"no step after restart {number}: exit code {process.poll()}\n{said.so_far()}")


def newest_checkpoint(run):
    return max((int(path.name.removeprefix("step-")) for path in run.directory.glob("checkpoints/step-*") if path.name[5:].isdigit()), default=0)


def comes_to_a_checkpoint(run, process):
    """Waits until it has saved since its last start: without that, three faults in a row are no progress, and it is given up."""
    told = restarts_of(run)
    began = int(re.search(r"after step (\d+)", told[-1]["text"])[1]) if told else 0
    until = time.monotonic() + PATIENCE
    while newest_checkpoint(run) <= began and process.poll() is None:
        assert time.monotonic() < until, f"no checkpoint after step {began}"
        time.sleep(0.005)


class Faults:
    def __init__(self, chance):
        self.chance = chance
        self.seen = {"kill": [], "stop": []}
        self.again = []
        self.named = 0

    def strike(self, run, process, said, number, kind):
        """A fault in a random rank; then the run goes on."""
        comes_to_a_checkpoint(run, process)
        run.reaches(int(run.rows()[-1]["step"]) + self.chance.randint(0, 3), process)
        ranks = ranks_of(process)
        rank = self.chance.choice(sorted(ranks))
        time.sleep(self.chance.random() * 0.02)  # anywhere in a step
        began = time.monotonic()
        os.kill(ranks[rank], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        # Peers notice that a rank hangs, and say so; the launcher's line comes when all ranks have ended.
        moment = said.wait_for(r"^error: rank ")[0] if kind == "stop" else None
        ended, line = said.wait_for(r"^launch: (passed|rank)")
        steps_again(run, number, process, said)
        self.again.append(time.monotonic() - began)
        self.seen[kind].append((moment or ended) - began)
        if kind == "kill":
            right = f"launch: rank {rank} (pid {ranks[rank]}) was killed by SIGKILL in step " in line
        else:
            right = re.search(rf"rank {rank}\b(?! \(pid)", line) is not None
        self.named += right
        if not right:
            print(f"rank {rank} was not named ({kind}): {line}", flush=True)


def gives_up(scratch, words):
    """A job that always dies before its first checkpoint is given up. What it said, if that is not so."""
    run = Run(scratch, "hopeless", *words, "train.save_every=0", "train.steps=100000", ranks=2, launch=("--max-restarts", "1000"))
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


def summary(numbers):
    return f"median {statistics.median(numbers):.2f} s, longest {max(numbers):.2f} s" if numbers else "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=50, help="in all; every third one stops a rank, the others kill one")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    faults = Faults(random.Random(options.seed))
    wrong = 0
    shares = [len(range(i, options.faults, len(LAYOUTS))) for i in range(len(LAYOUTS))]
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        shoal("prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--validation", "none", "--output", scratch / "tokens")
        done = 0
        for number, (share, (ranks, sets)) in enumerate(zip(shares, LAYOUTS)):
            if share == 0:
                continue
            steps = 40 * share + 20  # more than the faults need: the run must not end before them
            words = [f"train.steps={steps}", f"data.sources=[{scratch / 'tokens'}]", *COMMON, *sets]
            whole = Run(scratch, f"whole{number}", *words, ranks=ranks)
            struck = Run(scratch, f"struck{number}", *words, ranks=ranks, launch=("--max-restarts", "1000"))
            whole.finish()
            process = struck.start()
            said = Said(process)
            try:
                for fault in range(1, share + 1):
                    faults.strike(struck, process, said, fault, "stop" if done % 3 == 2 else "kill")
                    done += 1
                process.wait(timeout=PATIENCE)
            finally:
                kill(process)
            same = whole.figures() == struck.figures() and len(whole.figures()) == steps
            weights, shown = equal_checkpoints(whole.directory, struck.directory)
            good = process.returncode == 0 and same and weights and len(restarts_of(struck)) == share
            wrong += not good
            print(f"{'ok' if good else 'FAILED'}: {ranks} ranks, {' '.join(sets)}: {share} faults in {steps} steps", flush=True)
            if not good:
                print(f"exit code {process.returncode}, figures equal: {same}, restarts {len(restarts_of(struck))}\n{shown}{said.so_far()}")
        storm = gives_up(scratch, [f"data.sources=[{scratch / 'tokens'}]", *COMMON])
        print(storm or "ok: a job that always fails is given up", flush=True)
        wrong += storm is not None
    slow = max(faults.seen["kill"], default=0) > 1 or max(faults.seen["stop"], default=0) > DEADLINE + 1 or max(faults.again, default=0) > 10
    print(f"noticed: kills {summary(faults.seen['kill'])}; stops {summary(faults.seen['stop'])} with a deadline of {DEADLINE} s")
    print(f"steps again: {summary(faults.again)}; the right rank was named {faults.named} times of {done}")
    return 1 if wrong or slow or faults.named != done else 0


if __name__ == "__main__":
    sys.exit(main())
