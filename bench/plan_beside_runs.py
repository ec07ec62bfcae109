#!/usr/bin/env python3
"""Step times that `shoal plan` predicts from a calibrated cluster file, beside those of runs on this host.

    bench/plan_beside_runs.py --tokens DIR [--only one|two] [--passes 4]      # DIR: what `shoal prepare` made

In each pass the host is calibrated (`shoal bench gemm|memory|comm --save`) with as many ranks as the runs that follow have, one thread each, and
every layout trains some steps. What is measured while other processes, or the hypervisor's other guests, take more than a fifth of a core is
measured again. What others do to clocks and caches is seen by nobody and only makes things slower: a core of a virtual machine has half its speed
for tenths of a second, whenever a neighbour computes on the other half of it. So a layout's step is the fastest of all its steps in all passes,
and its prediction, from a calibration that counts undisturbed rounds, the fastest of all passes. Ends with lines NAME VALUE.
"""
import argparse
import csv
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM_UP = 3
COMMON = {"train.eval_every": 0, "train.save_every": 0, "train.threads": 1, "log.level": "error"}
LLAMA = {"model.positions": "rotary", "model.norm": "rms", "model.activation": "swiglu", "model.bias": "none", "model.tied": "false"}


def gpt(layers, width, heads, context, batch, **more):
    sets = {"model.layers": layers, "model.width": width, "model.heads": heads, "model.context": context, "train.batch": batch}
    return sets | {key.replace("__", "."): value for key, value in more.items()}


ONE = [
    gpt(2, 64, 4, 64, 8), gpt(4, 128, 4, 64, 12), gpt(4, 128, 4, 64, 64), gpt(2, 64, 2, 128, 64), gpt(3, 192, 6, 96, 7),
    gpt(4, 256, 4, 128, 8), gpt(4, 256, 4, 128, 16, train__micro_batch=1), gpt(4, 256, 4, 128, 16, train__micro_batch=5),
    gpt(4, 256, 4, 128, 8, train__recompute="full"), gpt(4, 256, 4, 128, 8, train__recompute="selective"), gpt(3, 256, 4, 512, 3),
    gpt(2, 384, 6, 256, 4), gpt(2, 512, 8, 128, 4), gpt(12, 128, 4, 64, 8), gpt(2, 128, 4, 64, 32, model__vocab_size=8191),
    gpt(2, 128, 4, 64, 32) | LLAMA, gpt(4, 256, 4, 128, 4) | LLAMA, gpt(3, 192, 6, 160, 5) | LLAMA, gpt(2, 512, 8, 128, 2) | LLAMA,
    gpt(4, 256, 4, 128, 8, train__precision="bf16"), gpt(2, 512, 8, 256, 4, train__precision="bf16"),
    gpt(4, 128, 2, 128, 16, train__precision="bf16"), gpt(2, 384, 6, 256, 6, train__precision="bf16") | LLAMA,
]
TWO = [
    gpt(4, 128, 4, 64, 32, parallel__sharding="no_shard"), gpt(4, 256, 4, 128, 16, parallel__sharding="no_shard"),
    gpt(4, 256, 4, 128, 16, parallel__sharding="full_shard"), gpt(4, 256, 4, 128, 16, parallel__sharding="optimizer"),
    gpt(4, 256, 4, 128, 16, parallel__sharding="shard_grad_op"), gpt(4, 256, 4, 128, 16, parallel__sharding="full_shard", parallel__prefetch=0),
    gpt(2, 512, 8, 128, 4, parallel__sharding="full_shard"), gpt(2, 512, 8, 128, 4, parallel__sharding="no_shard"),
    gpt(4, 256, 4, 128, 16, parallel__sharding="full_shard", train__micro_batch=2), gpt(4, 256, 4, 128, 8, parallel__tp=2),
    gpt(2, 512, 8, 128, 4, parallel__tp=2), gpt(4, 256, 4, 128, 16, parallel__pp=2, train__micro_batch=4),
    gpt(4, 256, 4, 128, 16, parallel__pp=2, train__micro_batch=2), gpt(4, 256, 4, 128, 16, parallel__pp=2, train__micro_batch=2, parallel__schedule="gpipe"),
    gpt(8, 192, 6, 96, 16, parallel__pp=2, train__micro_batch=2, parallel__schedule="interleaved", parallel__chunks=2),
    gpt(4, 256, 4, 128, 8, parallel__sharding="full_shard") | LLAMA, gpt(4, 256, 4, 128, 8, parallel__tp=2) | LLAMA,
    gpt(4, 256, 4, 128, 16, parallel__sharding="full_shard", train__recompute="full"),
    gpt(2, 512, 8, 256, 8, parallel__sharding="full_shard", train__precision="bf16"),
    gpt(4, 256, 4, 128, 16, parallel__pp=2, train__micro_batch=4, train__precision="bf16"),
]
BLOCKS = {"one": (1, ONE), "two": (2, TWO)}


def words(sets):
    return [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]


def taken():
    """CPU seconds of all processes but our own, with those that the hypervisor stole."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK") - own.ru_utime - own.ru_stime


def quietly(measure, tries=12):
    """Measures again while others take more than a fifth of a core."""
    for attempt in range(tries):
        began, before = time.monotonic(), taken()
        result = measure()
        others = (taken() - before) / (time.monotonic() - began)
        if others < 0.2:
            return result
        time.sleep(2 * (attempt + 1))
    print(f"(not quiet: others take {others:.2f} cores)", flush=True)
    return result


def shoal(options, ranks, *arguments):
    launch = ["launch", "--ranks", ranks, "--"] if ranks > 1 else []
    done = subprocess.run(list(map(str, [options.build / "shoal", *launch, *arguments])), cwd=options.scratch, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def train(options, ranks, sets, seconds):
    """Seconds of the fastest step."""
    steps = WARM_UP + min(max(int(options.seconds / seconds), 5), 60)
    subprocess.run(["rm", "-rf", options.scratch / "runs"], check=True)
    shoal(options, ranks, "train", *words(COMMON | sets | {"data.sources": f"[{options.tokens}]", "run.name": "bench", "train.steps": steps}))
    with (options.scratch / "runs" / "bench" / "metrics.csv").open() as file:
        return min(float(row["dt"]) for row in list(csv.DictReader(file))[WARM_UP:])


def predict(options, ranks, sets, cluster):
    sets = {"model.vocab_size": options.vocabulary} | COMMON | sets
    text = shoal(options, 1, "plan", ROOT / "configs" / "debug_cpu.yaml", "--ranks", ranks, "--cluster", cluster, "--json", *words(sets))
    found = json.loads(text)
    return found["step"]["seconds"], found["spent"]


def calibrate(options, ranks, cluster):
    threads = ["--set", "train.threads=1"]

    def bench(*arguments):
        quietly(lambda: shoal(options, ranks, "bench", *arguments, "--save", cluster, *threads))

    bench("gemm", "--seconds", options.calibration)
    bench("memory", "--seconds", options.calibration)
    if ranks > 1:
        bench("comm")


def name_of(ranks, sets):
    short = {key.split(".")[1]: value for key, value in sets.items() if key.split(".")[1] not in ("norm", "activation", "bias", "tied")}
    return f"{ranks}: " + " ".join(f"{key}={value}" for key, value in short.items())


def ranks_of_values(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    places = [0] * len(values)
    for place, i in enumerate(order):
        places[i] = place
    return places


def correlation(a, b):
    """Spearman's: of the places in both orders."""
    return statistics.correlation(ranks_of_values(a), ranks_of_values(b))


def print_summary(name, measured, predicted):
    errors = [abs(p / m - 1) for p, m in zip(predicted, measured)]
    print(f"\n{name}.layouts {len(errors)}\n{name}.mean_error {statistics.fmean(errors):.4f}\n{name}.largest_error {max(errors):.4f}\n"
          f"{name}.spearman {correlation(measured, predicted):.4f}")


def run_pass(options, name, table):
    ranks, layouts = BLOCKS[name]
    cluster = options.scratch / f"{name}.yaml"
    calibrate(options, ranks, cluster)
    for sets in layouts:
        predicted, spent = predict(options, ranks, sets, cluster)
        seconds = quietly(lambda: train(options, ranks, sets, predicted))
        table.setdefault(name_of(ranks, sets), []).append((seconds, predicted, spent))
        print(f"{name_of(ranks, sets):<110} {1e3 * seconds:8.1f} ms, predicted {1e3 * predicted:8.1f}, {100 * (predicted / seconds - 1):+6.1f} %",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", choices=BLOCKS)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a run, about")
    parser.add_argument("--calibration", type=int, default=12, help="seconds of each benchmark")
    parser.add_argument("--vocabulary", type=int, default=257, help="ids of the tokens")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for the calibrated cluster files")
    parser.add_argument("--table", type=pathlib.Path, help="add to the passes in this JSON file")
    options = parser.parse_args()
    options.tokens, options.build = options.tokens.resolve(), options.build.resolve()
    table = json.loads(options.table.read_text()) if options.table and options.table.exists() else {}
    with tempfile.TemporaryDirectory() as directory:
        options.scratch = pathlib.Path(directory)
        for _ in range(options.passes):
            for name in BLOCKS:
                if options.only in (None, name):
                    run_pass(options, name, table)
                    if options.table:
                        options.table.write_text(json.dumps(table))
            if options.keep:
                for file in options.scratch.glob("*.yaml"):
                    (options.keep / file.name).write_text(file.read_text())
    measured, predicted = [], []
    print("\nfastest of all passes")
    for name, passes in table.items():
        measured.append(min(row[0] for row in passes))
        predicted.append(min(row[1] for row in passes))
        print(f"{name:<110} {1e3 * measured[-1]:8.1f} ms, predicted {1e3 * predicted[-1]:8.1f}, {100 * (predicted[-1] / measured[-1] - 1):+6.1f} %")
    print_summary("plan", measured, predicted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
