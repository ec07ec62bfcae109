#!/usr/bin/env python3
"""Training on fake GPUs has the losses of one CPU process, on every kind of layout and in every precision, without a race.

    layouts_test.py [NAME...]        # only layouts whose name has one of these
"""
import pathlib
import sys
import tempfile
import time

from fake_gpus import SHOAL, launched, on_gpus, run
from training_runs import documents, rows_of, share_of

MODEL = ["model.layers=3", "model.width=48", "model.heads=3", "model.context=61", "train.batch=7", "train.steps=6",
         "train.log_every=4", "train.eval_every=0", "optimizer.warmup=2", "comm.deadline=30s"]
LLAMA = ["model.positions=rotary", "model.norm=rms", "model.activation=swiglu", "model.bias=none", "model.kv_heads=1", "model.tied=false"]

# What differs from the CPU beside the order of sums. Half precision rounds each product otherwise than the CPU's kernels do: a
# loss of about 5.5 is then off by less than one rounding of a logit, 2^-8 in bf16 and 2^-11 in fp16, and means are better.
ALLOWED = {"fp32": 1e-5, "fp64": 1e-12, "bf16": 2 ** -8, "fp16": 2 ** -11}

# name: (ranks, what the layout is, what the model and its arithmetic are)
LAYOUTS = {
    "alone": (1, [], []),
    "no_shard": (3, ["dp_shard=3", "sharding=no_shard"], []),
    "optimizer": (2, ["dp_shard=2", "sharding=optimizer"], []),
    "shard_grad_op": (3, ["dp_shard=3", "sharding=shard_grad_op"], ["train.micro_batch=1"]),
    "full_shard": (4, ["dp_shard=4"], LLAMA),
    "hybrid_shard": (4, ["dp_shard=2", "dp_replicate=2", "sharding=hybrid_shard"], []),
    "replicated": (2, ["dp_replicate=2"], []),
    "tensor": (2, ["tp=2"], []),
    "tensor_of_3": (3, ["tp=3"], LLAMA),
    "gpipe": (2, ["pp=2", "schedule=gpipe"], ["train.micro_batch=2"]),
    "1f1b": (3, ["pp=3"], ["train.micro_batch=1"]),
    "interleaved": (2, ["pp=2", "schedule=interleaved", "chunks=2"], ["model.layers=4", "train.micro_batch=1"]),
    "tied": (2, ["pp=2"], ["train.micro_batch=2", "model.tied=true"]),
    "pipeline_of_tensors": (4, ["pp=2", "tp=2"], ["train.micro_batch=2"]),
    "shards_of_tensors": (4, ["dp_shard=2", "tp=2"], LLAMA),
    "everything": (8, ["pp=2", "dp_shard=2", "tp=2"], ["train.micro_batch=1"]),
    "leader_reads": (2, ["tp=2"], ["data.read=leader"]),
    "accumulated": (2, ["dp_shard=2"], ["train.micro_batch=1", "train.batch=11"]),
    "dropout": (2, ["tp=2"], ["model.dropout=0.1"]),
    "recomputed": (2, ["dp_shard=2"], ["train.recompute=full", "model.dropout=0.1"]),
    "selective": (2, ["tp=2"], ["train.recompute=selective"]),
    "documents": (2, ["dp_shard=2"], ["data.separate_documents=true"]),
    "muon": (2, ["dp_shard=2"], ["optimizer.kind=muon"]),
    "bf16": (2, ["dp_shard=2"], ["train.precision=bf16", "model.heads=6"]),
    "bf16_documents": (2, ["pp=2"], ["train.precision=bf16", "model.heads=6", "data.separate_documents=true", "train.micro_batch=2"]),
    "bf16_tensor": (2, ["tp=2"], ["train.precision=bf16", "model.heads=6", *LLAMA]),
    "fp16": (2, ["tp=2"], ["train.precision=fp16", "model.heads=6"]),
    "fp64": (2, ["dp_shard=2"], ["train.precision=fp64"]),
}


def sets_of(*words):
    return [part for word in words for part in ("--set", word)]


def precision_of(arithmetic):
    return next((word.split("=")[1] for word in arithmetic if word.startswith("train.precision=")), "fp32")


def losses(directory):
    return [float(row["loss"]) for row in rows_of(directory)]


class Trial:
    """The same training on one CPU process and on fake GPUs."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.by_cpu = {}  # one run for all layouts of the same arithmetic

    def train(self, name, before, layout, arithmetic):
        words = [*MODEL, *arithmetic, *(f"parallel.{word}" for word in layout), f"run.name={name}", f"run.directory={self.scratch}/runs",
                 f"data.sources=[{self.scratch}/tokens]"]
        run([*before, "train", *sets_of(*words)])
        return losses(self.scratch / "runs" / name)

    def cpu_losses(self, arithmetic):
        key = " ".join(word for word in arithmetic if not word.startswith("data.read"))
        if key not in self.by_cpu:
            self.by_cpu[key] = self.train(f"cpu{len(self.by_cpu)}", [SHOAL], [], [*arithmetic, "train.device=cpu"])
        return self.by_cpu[key]

    def difference(self, name, ranks, layout, arithmetic):
        """The largest of all steps, relative to the loss."""
        by_cpu = self.cpu_losses(arithmetic)
        by_gpus = self.train(name, [*on_gpus(max(ranks, 2)), *launched(ranks)], layout, arithmetic)
        assert len(by_cpu) == len(by_gpus) > 0, f"{name}: {len(by_gpus)} steps, not {len(by_cpu)}"
        return max(abs(one - other) / one for one, other in zip(by_cpu, by_gpus))


def main():
    names = [name for name in LAYOUTS if any(word in name for word in sys.argv[1:])] or share_of(LAYOUTS)
    chosen = {name: LAYOUTS[name] for name in names}
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        (scratch / "text.txt").write_text(documents(seed=5))
        run([SHOAL, "prepare", "--input", scratch / "text.txt", "--separator", r"\n\n", "--tokenizer", "byte", "--output", scratch / "tokens"])
        trial = Trial(scratch)
        for name, (ranks, layout, arithmetic) in chosen.items():
            began = time.monotonic()
            try:
                difference = trial.difference(name, ranks, layout, arithmetic)
            except AssertionError as problem:
                wrong.append(name)
                print(f"{name:<20} FAILED: {problem}", flush=True)
                continue
            allowed = ALLOWED[precision_of(arithmetic)]
            verdict = "" if difference <= allowed else f"  FAILED: more than {allowed:.1e}"
            print(f"{name:<20} {ranks} GPUs  {difference:.1e} from one CPU process, {time.monotonic() - began:.1f} s{verdict}", flush=True)
            if verdict:
                wrong.append(name)
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} layouts train on fake GPUs like one CPU process")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
