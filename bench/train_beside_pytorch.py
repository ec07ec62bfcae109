#!/usr/bin/env python3
"""shoal train beside a plain PyTorch script of the same model (bench/plain_pytorch_train.py), in alternating rounds.

    bench/train_beside_pytorch.py --text shakespeare.txt --scratch /tmp/beside                     # the character model
    tools/make_small_corpus.py small.txt
    bench/train_beside_pytorch.py --job small --text small.txt --scratch /tmp/beside-small [--precision bf16]

A round is --steps steps of each, after ten that do not count: the seconds of PyTorch's by the seconds of ours, median of the
ratios with quartiles. With --ranks 2 ours are two processes of half the threads each.
Starts are measured apart, from exec to the end of the first step, new processes in turn. Both have the
same number of threads. Ends with lines NAME VALUE.
"""
import argparse
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM_UP = 10

JOBS = {
    "shakespeare": {"config": "shakespeare.yaml", "kind": "character", "layers": 4, "heads": 4, "width": 128, "context": 64,
                    "batch": 12, "bias": False},
    "small": {"config": "small_job.yaml", "kind": "word", "layers": 6, "heads": 6, "width": 384, "context": 256, "batch": 16,
              "bias": True},
}


class Ours:
    def __init__(self, options, job):
        self.options, self.job = options, job
        self.shoal = str(options.build / "shoal")
        tokenizer = options.scratch / "tokenizer"
        self.run("tokenizer", "train", options.text, "--kind", job["kind"], "--output", tokenizer)
        self.run("prepare", "--input", options.text, "--tokenizer", tokenizer, "--output", options.scratch / "tokens",
                 "--validation", "tail:0.1")
        self.vocabulary = len(json.loads((tokenizer / "tokenizer.json").read_text())["symbols"])

    def run(self, *words):
        done = subprocess.run([self.shoal, *map(str, words)], cwd=self.options.scratch, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"shoal {words[0]}: {done.stderr}")

    def train(self, steps):
        """Its rows, one per step."""
        shutil.rmtree(self.options.scratch / "runs", ignore_errors=True)
        sets = [f"data.sources=[{self.options.scratch / 'tokens'}]", "run.name=bench", f"train.steps={steps}", "train.eval_every=0",
                "train.save_every=0", f"train.threads={self.options.threads // self.options.ranks}",
                f"train.precision={self.options.precision}", "parallel.sharding=no_shard"]
        launch = ("launch", "--ranks", self.options.ranks, "--") if self.options.ranks > 1 else ()
        self.run(*launch, "train", ROOT / "configs" / self.job["config"], *(word for text in sets for word in ("--set", text)))
        with (self.options.scratch / "runs" / "bench" / "metrics.csv").open() as file:
            return list(csv.DictReader(file))

    def seconds(self, steps):
        return sum(float(row["dt"]) for row in self.train(WARM_UP + steps)[WARM_UP:])

    def startup(self):
        return float(self.train(1)[0]["startup_seconds"])


class Theirs:
    def __init__(self, options, job, vocabulary):
        ids = options.scratch / "ids.bin"
        make_ids(options.text, job["kind"], ids)
        self.command = [sys.executable, ROOT / "bench" / "plain_pytorch_train.py", "--data", ids, "--vocab", vocabulary,
                        "--threads", options.threads, "--dtype", "bfloat16" if options.precision == "bf16" else "float32"]
        for key in ("layers", "heads", "width", "context", "batch"):
            self.command += [f"--{key}", job[key]]
        if not job["bias"]:
            self.command.append("--no-bias")
        self.command = list(map(str, self.command))

    def start_rounds(self, steps):
        self.process = subprocess.Popen([*self.command, "--steps", str(steps), "--rounds-from-stdin"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def seconds(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def startup(self):
        done = subprocess.run([*self.command, "--steps", "12"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["startup_seconds"]


def make_ids(text, kind, path):
    import array
    content = text.read_text()
    pieces = list(content) if kind == "character" else content.split()
    number = {piece: i for i, piece in enumerate(sorted(set(pieces)))}
    with path.open("wb") as file:
        array.array("H", (number[piece] for piece in pieces)).tofile(file)


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", choices=JOBS, default="shakespeare")
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16: PyTorch's is autocast")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1, help="of ours, which divide the threads")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    options.scratch, options.text = options.scratch.resolve(), options.text.resolve()
    options.build = options.build.resolve()
    job = JOBS[options.job]
    ours = Ours(options, job)
    theirs = Theirs(options, job, ours.vocabulary)
    theirs.start_rounds(options.steps)
    pairs = [(theirs.seconds(), ours.seconds(options.steps)) for _ in range(options.rounds)]
    low, ratio, high = quartiles([their / our for their, our in pairs])
    per_step = statistics.median(our for _, our in pairs) / options.steps
    print(f"{options.job}, {options.precision}, {options.threads} threads: {1e3 * per_step:.1f} ms a step, PyTorch "
          f"{1e3 * statistics.median(their for their, _ in pairs) / options.steps:.1f} ms; {ratio:.2f} ({low:.2f} .. {high:.2f}) "
          "times the steps per second")
    starts = [(ours.startup(), theirs.startup()) for _ in range(options.starts)]
    share = statistics.median(our / their for our, their in starts)
    print(f"start to first step: {statistics.median(our for our, _ in starts):.2f} s, PyTorch "
          f"{statistics.median(their for _, their in starts):.2f} s")
    name = f"train.{options.job}.{options.precision}"
    print(f"\n{name}.ms_per_step {1e3 * per_step:.2f}\n{name}.speed_beside_pytorch {ratio:.3f}\n{name}.start_beside_pytorch {share:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
