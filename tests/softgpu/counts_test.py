#!/usr/bin/env python3
"""What a step asks of a GPU, counted on a fake one: no synchronisation, no pageable copy and no allocation between log lines, few
launches per block and micro-batch, as many in a step as `shoal plan` counts, and an optimizer whose launches do not grow with the number of units.

    counts_test.py
"""
import json
import os
import pathlib
import re
import sys
import tempfile

from fake_gpus import SHOAL, launched, on_gpus, run
from training_runs import documents

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODEL = ["model.width=48", "model.heads=6", "model.context=61", "train.batch=7", "train.precision=bf16", "train.eval_every=0",
         "train.log_every=1000000", "train.save_every=1000000"]
FAMILIES = {
    "gpt2": [],
    "llama": ["model.positions=rotary", "model.norm=rms", "model.activation=swiglu", "model.bias=none", "model.kv_heads=2", "model.tied=false",
              "model.hidden=192"],
}
LAYOUTS = {
    "full_shard, accumulated": (2, ("parallel.dp_shard=2", "train.micro_batch=2")),
    "pipeline of tensors": (4, ("parallel.pp=2", "parallel.tp=2", "train.micro_batch=2")),
}
SHARE_OF_EAGER = 0.7
# Counters of the bed that a step in steady state leaves alone.
NEVER = ["stream_synchronizations", "event_synchronizations", "device_synchronizations", "host_reads", "copies_pageable_host_to_device",
         "copies_pageable_device_to_host", "cuda_malloc", "cuda_free", "cuda_host_alloc"]
# While ranks wait for each other their hosts run ahead, and libtorch's pool of pinned buffers grows with what is in flight: once or
# twice in these steps.
NEVER_WITH_PEERS = [name for name in NEVER if name != "cuda_host_alloc"]
FEW, MANY = 12, 32  # steps; what differs between two runs is the steady state


class Counts:
    def __init__(self, scratch):
        self.scratch = scratch

    def of(self, command, name, ranks=1):
        """Of each rank."""
        run([*on_gpus(ranks, "--counts", self.scratch / f"{name}-%p.json"), *command], PYTHONPATH=os.environ.get("SHOAL_TORCH_SITE", ""))
        counts = [json.loads(path.read_text()) for path in self.scratch.glob(f"{name}-*.json")]
        assert len(counts) == ranks, f"{name}: {len(counts)} processes have counted, not {ranks}"
        return counts

    def of_training(self, family, layers, steps, ranks=1, sets=()):
        name = f"{family}-{layers}-{ranks}-{steps}"
        words = [*MODEL, *FAMILIES[family], f"model.layers={layers}", f"train.steps={steps}", f"run.name={name}",
                 f"run.directory={self.scratch}/runs", f"data.sources=[{self.scratch}/tokens]", *sets]
        return self.of([*launched(ranks), "train", *(part for word in words for part in ("--set", word))], name, ranks)

    def planned_launches(self, family, layers):
        """Of one step."""
        (self.scratch / "empty.yaml").write_text("{}\n")
        words = [*MODEL, *FAMILIES[family], f"model.layers={layers}", "model.vocab_size=257"]
        done = run([SHOAL, "plan", self.scratch / "empty.yaml", "--cluster", ROOT / "clusters" / "h100.yaml", "--json",
                    *(part for word in words for part in ("--set", word))])
        return json.loads(done.stdout)["step"]["launches"]

    def of_eager(self, family, layers, steps):
        return self.of(["/usr/bin/python3", HERE / "eager_models.py", family, layers, steps], f"eager-{family}-{layers}-{steps}")


def counter(counts, name):
    """The sum over ranks."""
    return sum(of_rank["total"]["counters"].get(name, 0) for of_rank in counts)


def launches_in(counts, pattern):
    """Of all ranges whose name matches."""
    return sum(of_range["counters"].get("launches", 0) for of_rank in counts for name, of_range in of_rank["ranges"].items()
               if re.fullmatch(pattern, name))


def per_step(few, many, value):
    return (value(many) - value(few)) / (MANY - FEW)


def main():
    wrong = []

    def expect(holds, text):
        print(text if holds else f"FAILED: {text}", flush=True)
        if not holds:
            wrong.append(text)

    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        (scratch / "text.txt").write_text(documents(seed=9))
        run([SHOAL, "prepare", "--input", scratch / "text.txt", "--separator", r"\n\n", "--tokenizer", "byte", "--output", scratch / "tokens"])
        counts = Counts(scratch)

        def expect_nothing_of(what, few, many, names=NEVER):
            made = {name: per_step(few, many, lambda run_of: counter(run_of, name)) for name in names}
            expect(not any(made.values()), f"{what}: per step " + ", ".join(f"{value:g} {name}" for name, value in made.items()))

        for layout, (ranks, sets) in LAYOUTS.items():
            expect_nothing_of(layout, *(counts.of_training("llama", 3, steps, ranks, sets) for steps in (FEW, MANY)), NEVER_WITH_PEERS)
        for family in FAMILIES:
            few, many = (counts.of_training(family, 3, steps) for steps in (FEW, MANY))
            expect_nothing_of(family, few, many)
            ours = sum(per_step(few, many, lambda run_of: launches_in(run_of, rf"{way} blocks\.1 .*")) for way in ("forward", "backward"))
            made = per_step(few, many, lambda run_of: launches_in(run_of, r"(forward|backward|update) .*|norm"))
            planned = counts.planned_launches(family, 3)
            expect(planned == made, f"{family}: {made:g} launches per step, planned {planned}")
            # Blocks of an eager model: what two more layers add, without what each run does once.
            eager = [[counter(counts.of_eager(family, layers, steps), "launches") for steps in (4, 8)] for layers in (2, 4)]
            theirs = ((eager[1][1] - eager[1][0]) - (eager[0][1] - eager[0][0])) / (4 * 2)
            expect(ours <= SHARE_OF_EAGER * theirs,
                   f"{family}: {ours:g} launches per block and micro-batch, {theirs:g} of eager PyTorch with autocast: {ours / theirs:.2f}")
        optimizer = [launches_in(counts.of_training("gpt2", layers, FEW), r"update .*|norm") / FEW for layers in (4, 9)]
        expect(optimizer[0] == optimizer[1], f"optimizer: {optimizer[0]:g} launches a step with 4 layers, {optimizer[1]:g} with 9")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
