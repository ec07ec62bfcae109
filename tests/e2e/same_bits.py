#!/usr/bin/env python3
"""The same run, again and again, on two threads: `shoal train` has to write the same figures to the last digit each time.

    SHOAL_BINARY_DIR=build/release tests/e2e/same_bits.py --runs 300 --steps 50

Outside CI: 300 runs take a quarter of an hour. A load beside it makes threads come late and in another order, which is the point;
two processes that only count make one.
"""
import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time

from training_runs import Run, documents, shoal


@contextlib.contextmanager
def load(processes):
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--load", type=int, default=2, help="processes that take the cores away")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, load(options.load):
        scratch = pathlib.Path(name)
        (scratch / "text.txt").write_text(documents(1))
        shoal("prepare", "--input", scratch / "text.txt", "--tokenizer", "byte", "--output", scratch / "tokens")
        began, usual, different = time.monotonic(), {}, 0
        for number in range(options.runs):
            precision = ("fp64", "fp32", "bf16")[number % 3]
            run = Run(scratch, f"run-{number}", f"data.sources=[{scratch / 'tokens'}]", "model.layers=2", "model.width=40",
                      "model.heads=5", "model.context=37", "train.batch=7", "train.threads=2", "train.log_every=1",
                      f"train.steps={options.steps}", f"train.precision={precision}", "optimizer.warmup=3")
            run.finish()
            figures = run.figures()
            assert len(figures) == options.steps, f"{len(figures)} rows of {options.steps} steps"
            if usual.setdefault(precision, figures) != figures:
                different += 1
                first = next(step for step in figures if figures[step] != usual[precision][step])
                print(f"run {number} in {precision}: step {first} has {figures[first]}, not {usual[precision][first]}")
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {options.runs} runs, {different} differ", end="", file=sys.stderr)
        print(f"{options.runs} runs of {options.steps} steps on two threads in {time.monotonic() - began:.0f} s: {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
