#!/usr/bin/env python3
"""The flagship's model in plain PyTorch: transformers' GPT-2 in a loop of a few lines, bf16 by autocast, on one process.

    tests/flagship/plain_pytorch.py initial --output DIR
    tests/flagship/plain_pytorch.py train --initial DIR --tokens DIR --steps N --output metrics.csv [--threads 1]

`initial` draws the weights that both runs begin with. `train` reads the token shards as any program reads Arrow files, in order, and
the figures of configs/flagship.yaml, so that nothing is said twice.
"""
import argparse
import csv
import math
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".deps" / "site"))

import numpy  # noqa: E402
import pyarrow  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import yaml  # noqa: E402

CONFIG = yaml.safe_load((ROOT / "configs" / "flagship.yaml").read_text())
# What the config leaves to the defaults of shoal (docs/config.md).
CLIP, DECAY, BETAS, EPSILON, FLOOR = 1.0, 0.1, (0.9, 0.95), 1e-8, 0.1


def initial(options):
    torch.manual_seed(1)
    model = CONFIG["model"]
    shape = transformers.GPT2Config(vocab_size=model["vocab_size"], n_positions=model["context"], n_embd=model["width"],
                                    n_layer=model["layers"], n_head=model["heads"], resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                    bos_token_id=None, eos_token_id=None)
    transformers.GPT2LMHeadModel(shape).save_pretrained(options.output)


class Samples:
    """Sample i: `length` ids and the one behind each, cut from the documents of a split end to end; after the last comes the first."""

    def __init__(self, directory, split, length):
        shards = sorted(directory.glob(f"{split}-*.arrow"))
        assert len(shards) == 1, f"{directory} has {len(shards)} shards of {split}: one was expected"
        table = pyarrow.ipc.open_file(shards[0]).read_all()
        self.ids = torch.from_numpy(table["input_ids"].combine_chunks().flatten().to_numpy().astype(numpy.int64))
        self.length = length
        self.count = (len(self.ids) - 1) // length

    def batch(self, first, size):
        rows = [self.ids[i * self.length:(i + 1) * self.length + 1] for i in ((first + k) % self.count for k in range(size))]
        return torch.stack(rows)


def learning_rate(step, steps):
    optimizer = CONFIG["optimizer"]
    if step < optimizer["warmup"]:
        return optimizer["lr"] * (step + 1) / optimizer["warmup"]
    done = (step - optimizer["warmup"]) / (steps - 1 - optimizer["warmup"])
    return optimizer["lr"] * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


def loss_of(model, rows):
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())


@torch.no_grad()
def validation_loss(model, samples, batch):
    batches = CONFIG["train"]["eval_batches"]
    return sum(loss_of(model, samples.batch(i * batch, batch)).item() for i in range(batches)) / batches


def train(options):
    torch.set_num_threads(options.threads)
    settings = CONFIG["train"]
    model = transformers.GPT2LMHeadModel.from_pretrained(options.initial, dtype=torch.float32)
    model.train()
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  betas=BETAS, eps=EPSILON, fused=True)
    training, validation = (Samples(options.tokens, split, CONFIG["model"]["context"]) for split in ("train", "validation"))
    with options.output.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", "loss", "val_loss", "lr", "grad_norm", "seconds"])
        began = time.monotonic()
        for step in range(options.steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, options.steps)
            loss = loss_of(model, training.batch(step * settings["batch"], settings["batch"]))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            evaluates = (step + 1) % settings["eval_every"] == 0 or step + 1 == options.steps
            value = validation_loss(model, validation, settings["batch"]) if evaluates else ""
            rows.writerow([step + 1, loss.item(), value, learning_rate(step, options.steps), norm.item(), round(time.monotonic() - began, 3)])
            file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("initial")
    first.set_defaults(call=initial)
    second = commands.add_parser("train")
    second.add_argument("--initial", type=pathlib.Path, required=True)
    second.add_argument("--tokens", type=pathlib.Path, required=True)
    second.add_argument("--steps", type=int, required=True)
    second.add_argument("--threads", type=int, default=1)
    second.set_defaults(call=train)
    for command in (first, second):
        command.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
