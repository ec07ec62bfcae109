#!/usr/bin/env python3
"""A plain PyTorch training loop of a GPT, eager, as a careful person writes it: what shoal is measured beside.

    tools/deps.sh engine check cuda
    bench/plain_pytorch_train.py --data tokens.bin --layers 4 --heads 4 --width 128 --context 128 --batch 8 --steps 60 --threads 2

Learned positions, layer norms before attention and MLP, GELU, a head tied to the embedding, PyTorch's own fused attention and
AdamW. The data are raw little-endian uint16 ids, read at seeded random offsets. Prints one line of JSON:
    startup_seconds              from the start of the process to the end of the first step; startup_processor_seconds: used by then
    median_step_seconds, mean_step_seconds, steps_per_second    of the steps after the first 10
    first_loss, final_loss, parameters, and the options

The first run after tools/deps.sh also compiles PyTorch's Python files: its startup_seconds do not count.

On several ranks, one process each with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, --wrap ddp or fsdp2 spreads the model over
them with Gloo, --batch being that of all ranks: DistributedDataParallel with gradients as views of buckets, or fully_shard of every
block and of the rest. With --device cuda each takes the GPU of its LOCAL_RANK, and NCCL.

With --rounds-from-stdin it warms up for 10 steps and prints that line without the figures of steps; then, for every line it reads,
it runs --steps steps and prints the seconds they took and those of the processor, so that rounds with another program can be
taken in turn.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import sys
import time

sys.dont_write_bytecode = False  # pip compiles what it installs; unpacked wheels are compiled by the first run, see above
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / ".deps" / "site"))

WARM_UP = 10


def seconds_since_start():
    """Of this process; the interpreter and the imports are part of what starting costs."""
    # Field 22, counted from the state, which follows the name in parentheses: ticks since the host booted.
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="raw uint16 token ids")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--vocab", type=int, default=50304)
    parser.add_argument("--no-bias", action="store_true", help="neither in linear layers nor in norms")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="bfloat16: by autocast, with float weights")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wrap", choices=("none", "ddp", "fsdp2"), default="none")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--log-every", type=int, default=1, help="steps after which the loss is read")
    parser.add_argument("--warm-up", type=int, default=WARM_UP, help="steps that do not count")
    parser.add_argument("--rounds-from-stdin", action="store_true")
    options = parser.parse_args()
    if options.width % options.heads:
        parser.error(f"--width {options.width} is not a multiple of --heads {options.heads}")
    if not options.rounds_from_stdin and options.steps <= options.warm_up:
        parser.error(f"--steps {options.steps}: the first {options.warm_up} are not counted, take more")
    return options


options = parse()  # before the imports that take seconds: a mistake is told at once

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Attention(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width, bias=bias)
        self.project = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.query_key_value(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width, bias=bias)
        self.attention = Attention(width, heads, bias)
        self.mlp_norm = nn.LayerNorm(width, bias=bias)
        self.up = nn.Linear(width, 4 * width, bias=bias)
        self.project = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.project(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab, context, layers, heads, width, bias):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, bias) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=bias)
        self.register_buffer("places", torch.arange(context), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue  # norms begin at one and their biases at zero
            # What is added to the residual stream is smaller the more layers add to it.
            nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if "project" in name else 0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(self.places[:ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Batches:
    """Rows of context + 1 ids from anywhere in the file."""

    def __init__(self, path, context, batch, seed):
        self.ids = np.memmap(path, dtype="<u2", mode="r")
        if len(self.ids) <= context:
            raise SystemExit(f"{path} holds {len(self.ids)} ids, and a row takes {context + 1}")
        self.row, self.batch = context + 1, batch
        self.generator = np.random.default_rng(seed)

    def next(self):
        starts = self.generator.integers(len(self.ids) - self.row + 1, size=self.batch)
        rows = torch.from_numpy(np.stack([self.ids[start:start + self.row] for start in starts]).astype(np.int64))
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def wrapped(model, kind, device):
    """Spread over the ranks of the job, as the documentation of either recommends."""
    if kind == "none":
        return model
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class Trainer:
    def __init__(self, options):
        torch.manual_seed(options.seed)
        rank, ranks = (int(os.environ.get(name, value)) for name, value in (("RANK", 0), ("WORLD_SIZE", 1)))
        self.batches = Batches(options.data, options.context, options.batch // ranks, options.seed + rank)
        self.device = torch.device(options.device)
        if self.device.type == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        model = GPT(options.vocab, options.context, options.layers, options.heads, options.width, not options.no_bias).to(self.device)
        self.model = wrapped(model, options.wrap, self.device)
        decayed = [p for p in self.model.parameters() if p.dim() >= 2]
        others = [p for p in self.model.parameters() if p.dim() < 2]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}],
                                           lr=options.lr, betas=(0.9, 0.95), eps=1e-8, fused=True)
        self.mixed = options.dtype == "bfloat16"
        self.log_every = options.log_every

    def parameters(self):
        return sum(p.numel() for p in self.model.parameters())

    def sent(self, batch):
        return batch.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else batch

    def step(self):
        """The loss, where it was computed."""
        ids, targets = map(self.sent, self.batches.next())
        with torch.autocast(self.device.type, torch.bfloat16) if self.mixed else contextlib.nullcontext():
            loss = self.model(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def steps(self, count):
        """The last loss, and the seconds of each. A loss is read as a number, which on a GPU awaits all steps so far."""
        number, seconds = None, []
        for done in range(1, count + 1):
            began = time.perf_counter()
            loss = self.step()
            if done % self.log_every == 0 or done == count:
                number = loss.item()
            seconds.append(time.perf_counter() - began)
        return number, seconds


def rounds(trainer, steps):
    for _ in sys.stdin:
        began, processor = time.perf_counter(), time.process_time()
        trainer.steps(steps)
        print(f"{time.perf_counter() - began:.6f} {time.process_time() - processor:.6f}", flush=True)


def main():
    torch.set_num_threads(options.threads)
    trainer = Trainer(options)
    first = trainer.step().item()
    startup, startup_processor = seconds_since_start(), time.process_time()
    told = {name: str(value) if isinstance(value, pathlib.Path) else value for name, value in vars(options).items()}
    line = {"startup_seconds": round(startup, 3), "startup_processor_seconds": round(startup_processor, 3),
            "first_loss": first, "parameters": trainer.parameters(), "torch": torch.__version__} | told
    if options.rounds_from_stdin:
        trainer.steps(options.warm_up - 1)
        print(json.dumps(line), flush=True)
        rounds(trainer, options.steps)
        return
    trainer.steps(options.warm_up - 1)
    last, counted = trainer.steps(options.steps - options.warm_up)
    mean = statistics.fmean(counted)
    figures = {"median_step_seconds": statistics.median(counted), "mean_step_seconds": mean, "steps_per_second": 1 / mean,
               "final_loss": last}
    print(json.dumps(figures | line))


if __name__ == "__main__":
    main()
