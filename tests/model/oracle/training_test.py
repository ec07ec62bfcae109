#!/usr/bin/env python3
"""`shoal train` itself beside plain PyTorch: GPT-2 and Llama from the same weights, on the same tokens, with AdamW, SGD and Muon.

Everything that a user's run goes through is in between: prepared shards, the loader, micro-batches, layouts, the optimizer, the
trainer and its metrics. PyTorch sees the same batches from the same array of tokens. All is fp64, so that the losses and gradient
norms of every step agree to a few units in the 15th digit, and each of them depends on all weights that the steps before it left.
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import oracle

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from shards import share_of  # noqa: E402

BINARY = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]).resolve()
STEPS, BATCH = 12, 5
LR, CLIP, DECAY, MOMENTUM, BETAS, EPSILON = 2e-3, 0.7, 0.1, 0.9, (0.9, 0.95), 1e-6
# A loss of 4 has 4.4e-16 of round-off; thirty times what was seen.
ALLOWED = 1e-13


# Vocabulary and context, as the directory's config says.
SIZES = {"gpt2": (61, 31), "llama": (67, 64)}


def tokens_of(family):
    """A text in the order in which it is read: a sample is as many tokens as the context, and the one behind each."""
    vocabulary, length = SIZES[family]
    return oracle.Draw(11).tokens((STEPS * BATCH * length + 1,), vocabulary)


def optimizers(kind, weights):
    """The optimizers of torch, for leaves that `weights` was made of."""
    import torch

    def groups(names):
        decayed = [weights[name] for name in names if weights[name].dim() >= 2]
        others = [weights[name] for name in names if weights[name].dim() < 2]
        return [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]

    if kind == "sgd":
        return [torch.optim.SGD(groups(weights), lr=LR, momentum=MOMENTUM, foreach=False, fused=False)]

    def adamw(names):
        return torch.optim.AdamW(groups(names), lr=LR, betas=BETAS, eps=EPSILON, foreach=False, fused=False)

    if kind == "adamw":
        return [adamw(weights)]
    matrices = [name for name in weights if weights[name].dim() == 2 and (".h." in name or ".layers." in name)]
    rest = [name for name in weights if name not in matrices]
    muon = torch.optim.Muon([weights[name] for name in matrices], lr=LR, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True,
                            adjust_lr_fn="match_rms_adamw")
    return [muon, adamw(rest)]


def orthogonalized_in_full():
    """torch rounds what it orthogonalizes to bfloat16. The same function without that line is the oracle here."""
    import inspect

    import torch.optim._muon as muon
    rounded = "grad.to(dtype=torch.bfloat16, copy=True)"
    source = inspect.getsource(muon._zeropower_via_newtonschulz)
    assert rounded in source, "torch.optim.Muon has changed: look at it again"
    exec(compile(source.replace(rounded, "grad.clone()"), muon.__file__, "exec"), muon.__dict__)


def joined(weights):
    """Leaves, and the weights that are made of them: what one product of ours computes is one matrix to Muon."""
    import torch
    parts = {".self_attn.qkv.weight": ("q_proj", "k_proj", "v_proj"), ".mlp.gate_up.weight": ("gate_proj", "up_proj")}
    leaves = dict(weights)
    made = {}
    for name in weights:
        for joint, names in parts.items():
            if name.endswith(f".{names[0]}.weight"):
                at = name.removesuffix(f".{names[0]}.weight")
                at = at.removesuffix(".self_attn").removesuffix(".mlp")
                own = [f"{at}.{joint.split('.')[1]}.{part}.weight" for part in names]
                leaves[at + joint] = torch.cat([leaves.pop(each) for each in own])
                made[at + joint] = (own, [weights[each].shape[0] for each in own])
    for leaf in leaves.values():
        leaf.requires_grad_()

    def unjoined():
        seen = {name: leaf for name, leaf in leaves.items() if name not in made}
        for name, (own, rows) in made.items():
            seen |= dict(zip(own, leaves[name].split(rows)))
        return seen

    return leaves, unjoined


def train_with_torch(family, kind):
    """Losses and norms, step by step."""
    import torch
    from plain_models import load, loss
    weights, config = load(oracle.GOLDEN / "models" / family, torch.float64)
    leaves, unjoined = joined(weights)
    tokens, length = tokens_of(family), SIZES[family][1]
    steppers = optimizers(kind, leaves)
    found = []
    for step in range(STEPS):
        first = step * BATCH * length
        rows = [tokens[first + row * length:first + (row + 1) * length + 1] for row in range(BATCH)]
        for leaf in leaves.values():
            leaf.grad = None
        value = loss(config, unjoined(), torch.stack(rows))
        value.backward()
        norm = torch.nn.utils.clip_grad_norm_(leaves.values(), CLIP, foreach=False)
        found.append((value.item(), norm.item()))
        for stepper in steppers:
            stepper.step()
    return found


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        orthogonalized_in_full()
        oracle.one_thread()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def shoal(self, *words):
        done = subprocess.run([str(BINARY / "shoal"), *map(str, words)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}\n{done.stdout}")

    def shards(self, family):
        """Each id is a character, and all of them occur: so ids of characters are the ids."""
        scratch = pathlib.Path(self.scratch.name)
        if not (scratch / family).exists():
            tokens = tokens_of(family).tolist()
            self.assertEqual(len(set(tokens)), SIZES[family][0])
            (scratch / f"{family}.txt").write_text("".join(chr(ord("!") + token) for token in tokens))
            self.shoal("tokenizer", "train", "--kind", "character", "--output", scratch / f"{family}-ids", scratch / f"{family}.txt")
            self.shoal("prepare", "--input", scratch / f"{family}.txt", "--tokenizer", scratch / f"{family}-ids", "--validation",
                       "none", "--end-of-document", "none", "--output", scratch / family)
        return scratch / family

    def train_with_shoal(self, family, kind, ranks, *layout):
        scratch = pathlib.Path(self.scratch.name)
        name = "-".join((family, kind, *layout)).replace("parallel.", "").replace("=", "")
        sets = (f"run.directory={scratch}", f"run.name={name}", f"data.sources=[{self.shards(family)}]",
                "data.order=sequential", "data.separate_documents=false",
                f"train.init_from={oracle.GOLDEN / 'models' / family}", f"train.steps={STEPS}", f"train.batch={BATCH}",
                "train.micro_batch=2", "train.precision=fp64", "train.threads=1", "train.log_every=1", f"optimizer.kind={kind}",
                f"optimizer.lr={LR}", "optimizer.lr_schedule=constant", "optimizer.warmup=0", f"optimizer.clip={CLIP}",
                f"optimizer.weight_decay={DECAY}", f"optimizer.momentum={MOMENTUM}", f"optimizer.beta1={BETAS[0]}",
                f"optimizer.beta2={BETAS[1]}", f"optimizer.epsilon={EPSILON:.1e}", *layout)
        launcher = ("launch", "--ranks", str(ranks), "--") if ranks > 1 else ()
        self.shoal(*launcher, "train", *(word for text in sets for word in ("--set", text)))
        with (scratch / name / "metrics.csv").open() as file:
            return [(float(row["loss"]), float(row["grad_norm"])) for row in csv.DictReader(file)]

    def test_every_optimizer(self):
        for family, kind in share_of((family, kind) for family in SIZES for kind in ("adamw", "sgd", "muon")):
            wanted = train_with_torch(family, kind)
            for ranks, *layout in ((1,), (2, "parallel.sharding=full_shard", "parallel.units=by_block_group"),
                                   (3, "parallel.tp=3") if family == "gpt2" else (4, "parallel.tp=2", "parallel.pp=2")):
                with self.subTest(family=family, kind=kind, layout=layout):
                    found = self.train_with_shoal(family, kind, ranks, *layout)
                    self.assertEqual(len(found), STEPS)
                    apart = max(abs(a - b) for ours, theirs in zip(found, wanted) for a, b in zip(ours, theirs))
                    print(f"{family} {kind} on {ranks}: losses and norms {apart:.1e} apart")
                    self.assertLess(apart, ALLOWED)


if __name__ == "__main__":
    why_not = oracle.missing("torch", "safetensors")
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(oracle.SKIPPED)
    unittest.main()
