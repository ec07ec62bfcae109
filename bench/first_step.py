#!/usr/bin/env python3
"""From exec to the first finished step: `shoal launch -- train` beside torchrun with a script of one DDP step, in alternating rounds.

    PYTHONPATH=.deps/site bench/first_step.py --text shakespeare.txt --scratch /tmp/first_step [--ranks 2,8,32,64] [--rounds 5]

Both sides start N ranks on this host, meet over Gloo, and train a model of no size for one step with one thread a rank. The clock starts
before exec, and stops when the line of the first step arrives. Seconds of ours by seconds of torchrun's, median of the ratios with quartiles.
With two ranks the system calls up to that line are counted as well: files opened, and bytes of files mapped. Ends with lines NAME VALUE.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from train_beside_pytorch import ROOT, quartiles  # noqa: E402

SCRIPT = '''
import torch
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Embedding(256, 32), torch.nn.Linear(32, 32), torch.nn.GELU(), torch.nn.Linear(32, 256))
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 256, (1, 33))
logits = model(tokens[:, :-1])
loss = torch.nn.functional.cross_entropy(logits.view(-1, 256), tokens[:, 1:].reshape(-1))
loss.backward()
optimizer.step()
if torch.distributed.get_rank() == 0:
    print("1/1 loss", loss.item(), flush=True)
torch.distributed.destroy_process_group()
'''
FIRST_STEP = re.compile(r"^\s*1/1\s", re.M)


def ours(options, ranks):
    shutil.rmtree(options.scratch / "runs", ignore_errors=True)
    sets = {"data.sources": f"[{options.scratch / 'tokens'}]", "run.directory": options.scratch / "runs", "run.name": "first", "train.steps": 1,
            "train.batch": ranks, "train.eval_every": 0, "train.log_every": 1, "train.threads": 1, "model.layers": 1, "model.heads": 1,
            "model.width": 32, "model.context": 32, "parallel.sharding": "no_shard"}
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    return [options.build / "shoal", "launch", "--ranks", ranks, "--", "train", *words]


def theirs(options, ranks):
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, options.scratch / "step.py"]


def seconds(command):
    """From exec to the line of the first step; then waits for the end."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if FIRST_STEP.search(line):
            taken = time.monotonic() - began
            process.communicate()
            return taken
    sys.exit(f"no first step: {' '.join(map(str, command))}\n{process.communicate()[1]}")


def files_of(options, command, name):
    """How many files were opened and how many bytes of files were mapped, by all processes, up to the line of the first step."""
    trace = options.scratch / f"{name}.strace"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=open,openat,mmap,write", "-o", trace, *map(str, command)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    opened = mapped = 0
    for line in trace.open(errors="replace"):
        if "write(1" in line and re.search(r'"(\\n|\\r|\s)*\s*1/1\s', line):
            break
        opened += re.search(r"open(at)?\(.* = \d+$", line) is not None
        found = re.search(r"mmap\([^,]+, (\d+), .*, (-?\d+), [^,]*\) = 0x", line)
        mapped += int(found[1]) if found and int(found[2]) >= 0 else 0
    return opened, mapped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--ranks", default="2,8,32,64")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    options.scratch.mkdir(parents=True, exist_ok=True)
    (options.scratch / "step.py").write_text(SCRIPT)
    subprocess.run([options.build / "shoal", "prepare", "--input", options.text, "--tokenizer", "byte", "--output", options.scratch / "tokens"],
                   check=True, stdout=subprocess.DEVNULL)
    figures = []
    for ranks in map(int, options.ranks.split(",")):
        pairs = [(seconds(ours(options, ranks)), seconds(theirs(options, ranks))) for _ in range(options.rounds)]
        low, middle, high = quartiles([mine / other for mine, other in pairs])
        mine, other = (sorted(side)[len(pairs) // 2] for side in zip(*pairs))
        print(f"{ranks} ranks: {mine:.2f} s beside {other:.2f} s of torchrun, ratio {middle:.2f} ({low:.2f} to {high:.2f})", flush=True)
        figures.append((f"first_step.{ranks}.ratio", f"{middle:.3f}"))
    for name, command in (("ours", ours(options, 2)), ("torchrun", theirs(options, 2))):
        opened, mapped = files_of(options, command, name)
        print(f"{name}, 2 ranks: {opened} files opened, {mapped / 2**20:.0f} MiB of files mapped")
        figures += [(f"first_step.{name}.opened", opened), (f"first_step.{name}.mapped_bytes", mapped)]
    for figure in figures:
        print(*figure)


if __name__ == "__main__":
    main()
