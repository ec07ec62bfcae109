#!/usr/bin/env python3
"""The flagship run: configs/flagship.yaml through three layouts and a fault every two minutes on average, beside plain PyTorch.

    SHOAL_BINARY_DIR=build/release tests/flagship/flagship.py --scratch DIR [--every 120] [--seed 1] TEXT...

Each third of the steps is run on another layout; the end of a third is a SIGTERM, as from a scheduler. A fault kills a rank, stops it,
makes it compute for ever, kills the whole job, or damages the newest checkpoint and kills a rank. PyTorch (plain_pytorch.py) trains
beside it, undisturbed, from the same weights on the same samples; both have one core each (--cores).

DIR keeps the run, pytorch.csv, faults.jsonl and log.txt; the same command goes on with a run that is there. Fails unless the losses of the first 300 steps are within 0.02 of
PyTorch's and the last validation loss is at most 0.01 above.
"""
import argparse
import contextlib
import csv
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTORCH = ROOT / "tests" / "flagship" / "plain_pytorch.py"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from faulty_runs import newest_checkpoint, summary  # noqa: E402
from layouts import LAYOUTS  # noqa: E402
from threads import hang  # noqa: E402
from training_runs import SHOAL, last_step_of, ranks_of, rows_of  # noqa: E402

CONFIG_FILE = ROOT / "configs" / "flagship.yaml"
CONFIG = yaml.safe_load(CONFIG_FILE.read_text())
CLOSE_STEPS, CLOSE, WORSE = 300, 0.02, 0.01
REQUEUE = 75  # exit code of a job that was asked to end and has saved
PATIENCE = 600  # seconds without a new step that are a failure of the run
KINDS = ["kill", "kill", "kill", "stop", "endless loop", "job killed", "damaged checkpoint"]


def shoal(*words):
    subprocess.run([SHOAL, *map(str, words)], check=True)


def prepare(scratch, texts):
    """Tokens, and the weights to begin with."""
    if (scratch / "initial").exists():
        return
    subprocess.run([sys.executable, ROOT / "tests/flagship/corpus.py", scratch / "pages.jsonl", *texts], check=True)
    shoal("tokenizer", "train", scratch / "pages.jsonl", "--vocab-size", CONFIG["model"]["vocab_size"], "--added", "<|endoftext|>", "--output", scratch / "tokenizer")
    shoal("prepare", "--input", scratch / "pages.jsonl", "--tokenizer", scratch / "tokenizer", "--output", scratch / "tokens")
    subprocess.run([sys.executable, PYTORCH, "initial", "--output", scratch / "initial"], check=True)


def start_pytorch(options):
    """Nothing when it has been started before."""
    output = options.scratch / "pytorch.csv"
    if output.exists():
        return None
    return subprocess.Popen(["taskset", "-c", options.cores[1], sys.executable, PYTORCH, "train", "--initial",
                             options.scratch / "initial", "--tokens", options.scratch / "tokens", "--steps", str(options.steps), "--output", output])


class Job:
    """The run on one layout, started again by whoever watches over jobs when all of it is killed."""

    def __init__(self, scratch, steps, core, ranks, layout, deadline):
        self.directory = scratch / "runs" / "flagship"
        self.log = (scratch / "log.txt").open("a")
        begin = "resume" if newest_checkpoint(self) else scratch / "initial"
        sets = [f"run.directory={scratch / 'runs'}", f"data.sources=[{scratch / 'tokens'}]", f"train.steps={steps}", f"comm.deadline={deadline}s",
                f"train.init_from={begin}", *layout]
        self.command = ["taskset", "-c", core, SHOAL, "launch", "--ranks", str(ranks), "--max-restarts", "1000", "--grace", "10", "--", "train",
                        str(CONFIG_FILE), *(word for text in sets for word in ("--set", text))]
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, start_new_session=True)

    def step(self):
        return last_step_of(self.directory)

    def is_running(self):
        return self.process.poll() is None

    def ranks(self):
        return ranks_of(self.process)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def damage(checkpoint):
    """One byte in the middle of its largest file."""
    path = max((path for path in checkpoint.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x10]))


class Flagship:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.faults = []
        self.saved = 0  # newest checkpoint at the last fault
        self.record = (options.scratch / "faults.jsonl").open("a")
        self.began = time.monotonic()

    def start(self, layout):
        return Job(self.options.scratch, self.options.steps, self.options.cores[0], *LAYOUTS[layout][1:], self.options.deadline)

    def strike(self, job, layout):
        """Returns the job that goes on, when it has come one step further than it was."""
        while newest_checkpoint(job) <= self.saved and job.is_running():
            time.sleep(0.1)  # three faults in a row without a checkpoint between them would be given up, rightly
        kind, step = self.chance.choice(KINDS), job.step()
        self.saved = newest_checkpoint(job)
        ranks = job.ranks()
        rank = self.chance.choice(sorted(ranks))
        began = time.monotonic()
        if kind == "job killed":
            job.kill()
            job = self.start(layout)
        elif kind == "stop":
            os.kill(ranks[rank], signal.SIGSTOP)
        elif kind == "endless loop":
            hang(ranks[rank], PATIENCE)
        else:
            if kind == "damaged checkpoint":
                damage(job.directory / "checkpoints" / f"step-{self.saved:09d}")
            os.kill(ranks[rank], signal.SIGKILL)
        while job.step() <= step:
            assert job.is_running() and time.monotonic() < began + PATIENCE, f"{kind} of rank {rank} at step {step}: exit {job.process.poll()}"
            time.sleep(0.1)  # until it has caught up
        if kind == "stop":
            with contextlib.suppress(ProcessLookupError):  # killed by the launcher, or left behind by the others and back from here on
                os.kill(ranks[rank], signal.SIGCONT)
        fault = {"seconds": round(began - self.began), "kind": kind, "rank": rank, "step": step, "layout": layout,
                 "caught_up": round(time.monotonic() - began, 2)}
        self.faults.append(fault)
        self.record.write(json.dumps(fault) + "\n")
        self.record.flush()
        print(f"{fault['seconds']:5} s: step {step}, {kind} of rank {rank}: caught up after {fault['caught_up']} s", flush=True)
        return job

    def third(self, layout):
        """Trains on that layout until its share of the steps is done."""
        end = self.options.steps * (layout + 1) // len(LAYOUTS)
        if last_step_of(self.options.scratch / "runs" / "flagship") >= end:
            return
        job = self.start(layout)
        try:
            while job.is_running() and job.step() < end:
                until = time.monotonic() + self.chance.expovariate(1 / self.options.every)
                while job.is_running() and job.step() < end and time.monotonic() < until:
                    time.sleep(0.2)  # until the next fault
                if job.is_running() and 0 < job.step() < end - 3:
                    job = self.strike(job, layout)
            if end < self.options.steps:
                job.process.terminate()
            code = job.process.wait(PATIENCE)
            assert code == (REQUEUE if end < self.options.steps else 0), f"exit code {code}: see {self.options.scratch / 'log.txt'}"
        finally:
            job.kill()
        print(f"{time.monotonic() - self.began:5.0f} s: step {job.step()} at the end of layout {layout + 1}", flush=True)


def compared(scratch):
    """Prints both curves side by side. Whether they are as close as they have to be."""
    ours = rows_of(scratch / "runs" / "flagship")
    with (scratch / "pytorch.csv").open() as file:
        theirs = list(csv.DictReader(file))
    pairs = list(zip(ours, theirs, strict=True))
    apart = [abs(float(our["loss"]) - float(their["loss"])) for our, their in pairs]
    for our, their in pairs:
        assert abs(float(our["lr"]) - float(their["lr"])) < 1e-9, f"step {our['step']} has another learning rate"
        if their["val_loss"]:
            print(f"step {our['step']:>5}: validation loss {float(our['val_loss']):.4f}, PyTorch's {float(their['val_loss']):.4f}")
    first = max(apart[:CLOSE_STEPS])
    worse = float(ours[-1]["val_loss"]) - float(theirs[-1]["val_loss"])
    print(f"losses of the first {CLOSE_STEPS} steps at most {first:.4f} apart, of all {max(apart):.4f}, {statistics.mean(apart):.4f} in the mean")
    print(f"last validation loss {float(ours[-1]['val_loss']):.4f}, PyTorch's {float(theirs[-1]['val_loss']):.4f}: {worse:+.4f}")
    return first <= CLOSE and worse <= WORSE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=CONFIG["train"]["steps"])
    parser.add_argument("--every", type=float, default=120, help="seconds between two faults, on average")
    parser.add_argument("--deadline", type=int, default=20, help="seconds, of calls")
    parser.add_argument("--cores", nargs=2, default=("0", "1"), help="of this run and of PyTorch's")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    options.scratch.mkdir(parents=True, exist_ok=True)
    prepare(options.scratch, options.texts)
    beside = start_pytorch(options)
    run = Flagship(options)
    try:
        for layout in range(len(LAYOUTS)):
            run.third(layout)
        seconds = time.monotonic() - run.began
    finally:
        assert beside is None or beside.wait() == 0, "PyTorch failed"
    print(f"{options.steps} steps in {seconds / 60:.1f} minutes, {len(run.faults)} faults, one every {seconds / max(1, len(run.faults)):.0f} s")
    for kind in dict.fromkeys(fault["kind"] for fault in run.faults):
        print(f"{kind}: {sum(fault['kind'] == kind for fault in run.faults)}, caught up after "
              f"{summary([fault['caught_up'] for fault in run.faults if fault['kind'] == kind])}")
    once = [int(row["step"]) for row in rows_of(options.scratch / "runs" / "flagship")] == list(range(1, options.steps + 1))
    print(f"each step once: {once}")
    return 0 if compared(options.scratch) and once else 1


if __name__ == "__main__":
    sys.exit(main())
