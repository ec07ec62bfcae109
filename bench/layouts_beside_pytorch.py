#!/usr/bin/env python3
"""shoal train on two ranks beside PyTorch's DistributedDataParallel and FSDP2, in alternating rounds.

    bench/layouts_beside_pytorch.py --text shakespeare.txt --scratch /tmp/layouts [--only ddp|fsdp2]

The same model, the same batch, Gloo over the loopback and one thread a rank on both sides (bench/plain_pytorch_train.py): no_shard
against DDP, full_shard with a unit for each block against fully_shard. A round is --steps steps of each after some that do not
count; the seconds of ours by the seconds of PyTorch's, median of the ratios with quartiles: below 1 we are faster. Ends with lines
NAME VALUE.
"""
import argparse
import csv
import pathlib
import shutil
import socket
import statistics
import subprocess
import os
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from train_beside_pytorch import ROOT, make_ids, quartiles  # noqa: E402

RANKS = 2
WARM_UP = 3
SHAPE = {"layers": 6, "heads": 8, "width": 512, "context": 64, "batch": 8}
PAIRS = {"ddp": "no_shard", "fsdp2": "full_shard"}


class Ours:
    def __init__(self, options):
        self.options, self.shoal = options, str(options.build / "shoal")
        tokenizer = options.scratch / "tokenizer"
        self.run("tokenizer", "train", options.text, "--kind", "character", "--output", tokenizer)
        self.run("prepare", "--input", options.text, "--tokenizer", tokenizer, "--output", options.scratch / "tokens")

    def run(self, *words):
        done = subprocess.run([self.shoal, *map(str, words)], cwd=self.options.scratch, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"shoal {' '.join(map(str, words))}: {done.stderr}")

    def seconds(self, sharding):
        shutil.rmtree(self.options.scratch / "runs", ignore_errors=True)
        sets = {"data.sources": f"[{self.options.scratch / 'tokens'}]", "run.name": "bench", "parallel.sharding": sharding,
                "train.steps": WARM_UP + self.options.steps, "train.eval_every": 0, "train.save_every": 0, "train.threads": 1,
                "model.tied": "true", "model.bias": "all", "optimizer.lr": "1.0e-3"}
        sets |= {f"model.{key}": SHAPE[key] for key in ("layers", "heads", "width", "context")} | {"train.batch": SHAPE["batch"]}
        words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
        self.run("launch", "--ranks", RANKS, "--", "train", *words)
        with (self.options.scratch / "runs" / "bench" / "metrics.csv").open() as file:
            return sum(float(row["dt"]) for row in list(csv.DictReader(file))[WARM_UP:])


class Theirs:
    def __init__(self, options, kind):
        ids = options.scratch / "ids.bin"
        make_ids(options.text, "character", ids)
        words = [sys.executable, ROOT / "bench" / "plain_pytorch_train.py", "--data", ids, "--vocab", 65, "--threads", 1, "--wrap", kind,
                 "--warm-up", WARM_UP, "--steps", options.steps, "--rounds-from-stdin"]
        words += [word for key, value in SHAPE.items() for word in (f"--{key}", value)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.ranks = [subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
                                                         "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"})
                      for rank in range(RANKS)]
        for rank in self.ranks:
            if not rank.stdout.readline():
                sys.exit(f"PyTorch with {kind} did not start")

    def seconds(self):
        for rank in self.ranks:
            rank.stdin.write("go\n")
            rank.stdin.flush()
        return max(float(rank.stdout.readline().split()[0]) for rank in self.ranks)

    def stop(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", choices=PAIRS)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    options.scratch, options.text, options.build = options.scratch.resolve(), options.text.resolve(), options.build.resolve()
    ours = Ours(options)
    lines = []
    for kind, sharding in PAIRS.items():
        if options.only not in (None, kind):
            continue
        theirs = Theirs(options, kind)
        pairs = [(ours.seconds(sharding), theirs.seconds()) for _ in range(options.rounds)]
        theirs.stop()
        low, ratio, high = quartiles([our / their for our, their in pairs])
        our, their = (1e3 * statistics.median(side) / options.steps for side in zip(*pairs))
        print(f"{sharding} {our:.1f} ms a step, {kind} {their:.1f} ms: {ratio:.3f} ({low:.3f} .. {high:.3f}) of its time", flush=True)
        lines.append(f"layouts.{sharding}.beside_{kind} {ratio:.3f}")
    print("\n" + "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
