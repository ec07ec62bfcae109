#!/usr/bin/env python3
"""What prefetching and hybrid sharding gain between two hosts with slow links: network namespaces with shaped links, as root.

    bench/layouts_on_links.py --tokens DIR [--only prefetch|hybrid]      # DIR: what `shoal prepare` made

prefetch: full_shard over two hosts at 1 Gbit/s, the weights of a unit gathered while the unit before computes, or when they are
          needed; the seconds of a step with by those without.
hybrid:   two ranks on each of two hosts at 100 Mbit/s; the seconds of a step with full_shard over all four by those of hybrid_shard,
          which divides inside a host and only adds up gradients between hosts.

Rounds alternate; median of the ratios with quartiles. Ends with lines NAME VALUE.
"""
import argparse
import csv
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from train_beside_pytorch import ROOT, quartiles  # noqa: E402

HOSTS = ROOT / "tests" / "testbed" / "hosts"
WARM_UP = 2
COMMON = {"run.name": "bench", "train.eval_every": 0, "train.save_every": 0, "train.threads": 1, "model.context": 64}
CASES = {
    "prefetch": {"link": "1gbit", "ranks": 1,
                 "model": {"model.layers": 12, "model.heads": 6, "model.width": 384, "train.batch": 22, "parallel.sharding": "full_shard"},
                 "of": {"parallel.prefetch": 1}, "by": {"parallel.prefetch": 0}},
    "hybrid": {"link": "100mbit", "ranks": 2,
               "model": {"model.layers": 4, "model.heads": 4, "model.width": 256, "train.batch": 8},
               "of": {"parallel.sharding": "full_shard"},
               "by": {"parallel.sharding": "hybrid_shard", "parallel.dp_replicate": 2}},
}


def on_hosts(build, hosts, ranks, directory, *command):
    """Runs a command on so many ranks of each host, and returns what host 0 printed."""
    started = [subprocess.Popen(list(map(str, [HOSTS, "run", host + 1, build / "shoal", "launch", "--ranks", ranks, "--hosts", hosts,
                                               "--host", host, "--address", "10.77.0.1", "--", *command])),
                                cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for host in reversed(range(hosts))]
    for host in started:
        output, _ = host.communicate()
        if host.returncode != 0:
            sys.exit(output)
    return output


def train(options, case, sets, scratch):
    shutil.rmtree(scratch / "runs", ignore_errors=True)
    sets = COMMON | case["model"] | sets | {"data.sources": f"[{options.tokens}]", "train.steps": WARM_UP + options.steps}
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    on_hosts(options.build, 2, case["ranks"], scratch, "train", *words)
    with (scratch / "runs" / "bench" / "metrics.csv").open() as file:
        return statistics.fmean(float(row["dt"]) for row in list(csv.DictReader(file))[WARM_UP:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.tokens, options.build = options.tokens.resolve(), options.build.resolve()
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        for name, case in CASES.items():
            if options.only not in (None, name):
                continue
            subprocess.run([HOSTS, "down", "2"], check=False, capture_output=True)
            subprocess.run([HOSTS, "up", "2", case["link"]], check=True)
            try:
                pairs = [tuple(train(options, case, case[side], pathlib.Path(directory)) for side in ("of", "by"))
                         for _ in range(options.rounds)]
            finally:
                subprocess.run([HOSTS, "down", "2"], check=False, capture_output=True)
            low, ratio, high = quartiles([of / by for of, by in pairs])
            of, by = (statistics.median(side) for side in zip(*pairs))
            print(f"{name} at {case['link']}: {of:.2f} s a step by {by:.2f} s: {ratio:.3f} ({low:.3f} .. {high:.3f})", flush=True)
            lines.append(f"layouts.{name} {ratio:.3f}")
    print("\n" + "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
