#!/usr/bin/env python3
"""Step times that `shoal plan` predicts for 4 and 8 ranks on hosts with shaped links, beside measured ones: network namespaces, as root.

    bench/plan_beside_links.py [--rate 400mbit] [--only 4|8] [--rounds 3]

There are more ranks than cores, so computation is padded (bench/padded_steps.cpp): the step is the real one of a small model, and
its operations take the time that the cluster file says. The links are calibrated by `shoal bench comm --save` on the same hosts before.
So this measures the schedule, the links and what overlaps; bench/plan_beside_runs.py measures computation. A layout's step is the fastest
of all rounds. Ends with lines NAME VALUE.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from layouts_on_links import HOSTS, on_hosts  # noqa: E402
from plan_beside_runs import ROOT, print_summary, words  # noqa: E402

MODEL = {"model.layers": 7, "model.width": 130, "model.heads": 5, "model.context": 11, "model.vocab_size": 509, "train.batch": 24,
         "train.precision": "fp32", "train.steps": 100, "optimizer.warmup": 1}
# A device so slow that a block's forward pass takes some 10 ms.
DEVICE = """device: {name: padded, memory_gb: 24, bf16_tflops: 0.002, fp32_tflops: 0.002, memory_gb_per_s: 1000000, products_share: 1.0,
  products_half_gflop: 0, attention_share: 1.0, memory_share: 1.0, launch_us: 0, queued: false}
"""


def layouts(ranks):
    common = [
        {"sharding": "no_shard"}, {"sharding": "optimizer"}, {"sharding": "shard_grad_op"}, {"sharding": "full_shard"},
        {"sharding": "full_shard", "prefetch": 0}, {"sharding": "full_shard", "micro_batch": 1},
        {"sharding": "hybrid_shard", "dp_replicate": ranks // 2}, {"tp": 2, "sharding": "no_shard"}, {"tp": 2, "sharding": "full_shard"},
        {"pp": 2, "sharding": "no_shard", "micro_batch": 2}, {"pp": 4, "micro_batch": 1}, {"pp": 4, "micro_batch": 1, "schedule": "gpipe"},
        {"tp": 2, "pp": 2, "micro_batch": 2}, {"pp": 2, "micro_batch": 1, "schedule": "interleaved", "chunks": 2},
        {"sharding": "no_shard", "recompute": "full"}, {"pp": 2, "sharding": "full_shard", "micro_batch": 3},
    ]
    return common if ranks == 4 else [*common, {"tp": 2, "pp": 4, "micro_batch": 1}]


def sets_of(layout):
    return words(MODEL | {("train." if key in ("micro_batch", "recompute") else "parallel.") + key: value for key, value in layout.items()})


def run_block(options, ranks, table):
    hosts = ranks // 2
    subprocess.run([HOSTS, "down", str(hosts)], check=False, capture_output=True)
    subprocess.run([HOSTS, "up", str(hosts), options.rate], check=True)
    try:
        cluster = options.scratch / f"{ranks}.yaml"
        cluster.write_text(DEVICE)
        sizes = [word for size in ("4 KiB", "32 KiB", "256 KiB", "2 MiB") for word in ("--size", size)]
        print(on_hosts(options.build, hosts, 2, options.scratch, "bench", "comm", "--save", cluster, *sizes, "--set", "train.threads=1"), flush=True)
        # What sleeps loses nothing to communication beside it.
        cluster.write_text(re.sub(r"device_share: .*", "device_share: 0", cluster.read_text()))
        for _ in range(options.rounds):
            for layout in layouts(ranks):
                text = on_hosts(options.build, hosts, 2, options.scratch, options.build / "padded_steps", "--cluster", cluster, "--steps", options.steps, *sets_of(layout))
                seconds = float(re.search(r"padded.seconds (\S+)", text)[1])
                planned = subprocess.run(list(map(str, [options.build / "shoal", "plan", ROOT / "configs" / "debug_cpu.yaml", "--ranks", ranks,
                                                        "--cluster", cluster, "--json", *sets_of(layout)])), capture_output=True, text=True, check=True)
                predicted = json.loads(planned.stdout)["step"]["seconds"]
                name = f"{ranks}: " + " ".join(f"{key}={value}" for key, value in layout.items())
                table.setdefault(name, []).append((seconds, predicted))
                print(f"{name:<70} {1e3 * seconds:8.1f} ms, predicted {1e3 * predicted:8.1f}, {100 * (predicted / seconds - 1):+6.1f} %", flush=True)
    finally:
        subprocess.run([HOSTS, "down", str(hosts)], check=False, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--rate", default="400mbit", help="of a link, as tc writes it")
    parser.add_argument("--only", type=int, choices=(4, 8))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    options.build = options.build.resolve()
    table = {}
    with tempfile.TemporaryDirectory() as directory:
        options.scratch = pathlib.Path(directory)
        for ranks in (4, 8):
            if options.only in (None, ranks):
                run_block(options, ranks, table)
    measured = [min(seconds for seconds, _ in rounds) for rounds in table.values()]
    predicted = [rounds[0][1] for rounds in table.values()]  # one calibration for all rounds
    print_summary("plan.links", measured, predicted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
