#!/usr/bin/env python3
"""Step times that `shoal plan` predicts, beside published ones: Megatron on A100s, Korthikanti et al. 2022 (arXiv 2205.05198), table 5.

    bench/plan_beside_published.py                  # with the shares of clusters/a100_80g.yaml
    bench/plan_beside_published.py --leave-one-out  # each point with the shares that fit the other seven best

They computed attention by products, and their rows with full recomputation gathered no sequences, which ours always do. Calculon's error
on the same eight points is 3.65 %.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Name, layers, width, heads, pipeline ranks, chunks, micro-batch, batch; seconds with full and with selective recomputation.
MODELS = [
    ("22B", 48, 6144, 64, 1, 1, 4, 4, 1.42, 1.10),
    ("175B", 96, 12288, 96, 8, 3, 1, 64, 18.13, 13.75),
    ("530B", 105, 20480, 128, 35, 3, 1, 280, 49.05, 37.83),
    ("1T", 128, 25600, 160, 64, 1, 1, 512, 94.42, 71.49),
]
TENSOR_RANKS = 8
SHARES = {"products_share": (0.70, 0.72, 0.74, 0.76, 0.78), "memory_share": (0.6, 0.7, 0.8)}


def points():
    for name, layers, width, heads, stages, chunks, micro_batch, batch, full, selective in MODELS:
        for recompute, seconds in (("full", full), ("selective", selective)):
            sets = [f"model.layers={layers}", f"model.width={width}", f"model.heads={heads}", "model.context=2048", "model.vocab_size=51200",
                    f"train.batch={batch}", f"train.micro_batch={micro_batch}", "train.precision=bf16", f"train.recompute={recompute}",
                    f"parallel.tp={TENSOR_RANKS}", f"parallel.pp={stages}", f"parallel.chunks={chunks}", "parallel.sharding=no_shard",
                    f"parallel.schedule={'interleaved' if chunks > 1 else '1f1b'}"]
            yield f"{name}, {recompute}", TENSOR_RANKS * stages, sets, seconds


def predicted(shoal, cluster, ranks, sets):
    words = [shoal, "plan", ROOT / "configs" / "gpt2_124m.yaml", "--ranks", ranks, "--cluster", cluster, "--json"]
    words += [word for text in sets for word in ("--set", text)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["step"]["seconds"]


def errors(shoal, directory, shares):
    """Of each point, as a share of the measured time."""
    text = (ROOT / "clusters" / "a100_80g.yaml").read_text()
    more = "".join(f"  {name}: {value}\n" for name, value in ({"flash_attention": "false"} | shares).items())
    cluster = pathlib.Path(directory) / "cluster.yaml"
    cluster.write_text(text.replace("devices_per_node:", more + "devices_per_node:"))
    return [predicted(shoal, cluster, ranks, sets) / seconds - 1 for _, ranks, sets, seconds in points()]


def mean(values):
    values = list(map(abs, values))
    return sum(values) / len(values)


def left_out(tables):
    """For each point the error with the shares whose mean error over the others is smallest."""
    for i in range(len(list(points()))):
        others = min(tables, key=lambda table: mean(table[:i] + table[i + 1:]))
        yield others[i]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shoal", type=pathlib.Path, default=ROOT / "build" / "release" / "shoal")
    parser.add_argument("--leave-one-out", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if options.leave_one_out:
            tables = [errors(options.shoal, directory, dict(zip(SHARES, values))) for values in itertools.product(*SHARES.values())]
            found = list(left_out(tables))
        else:
            found = errors(options.shoal, directory, {})
    for (name, ranks, _, seconds), error in zip(points(), found):
        print(f"{name:<16} {ranks:>4} GPUs  measured {seconds:6.2f} s  predicted {seconds * (1 + error):6.2f} s  {100 * error:+5.1f} %")
    print(f"mean error {100 * mean(found):.2f} %")


if __name__ == "__main__":
    main()
