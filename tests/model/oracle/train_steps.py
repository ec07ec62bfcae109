#!/usr/bin/env python3
"""Some steps of training by torch.optim.AdamW from the weights of a directory: what our own training has to reproduce.

    tests/model/oracle/train_steps.py tests/golden/models/llama OUT.safetensors --dtype float64

Each step takes the mean cross-entropy of one batch, clips the global norm of the gradients, and lets AdamW step at a constant
learning rate; weights of two dimensions decay, others do not. OUT holds, in the dtype where nothing else is said:
    tokens         int64 [steps, 3, 18]: a batch for each step; the first 17 of a row are given, the last 17 predicted
    losses         [steps], each before its step
    grad_norms     [steps], before clipping
    grad.NAME      the gradients of the first step, before clipping
    weight.NAME    the weights after the last
The middle third of GPT-2's c_attn.bias means nothing: see without_key_bias in oracle.py.
The golden ones are tests/golden/training/{gpt2,llama}_{f64,f32}.safetensors.
"""
import argparse
import json
import pathlib

from oracle import Draw, one_thread

BATCH, LENGTH = 3, 17


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family_dir", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--dtype", choices=("float64", "float32"), required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--beta1", type=float, default=0.9)
    parser.add_argument("--beta2", type=float, default=0.95)
    parser.add_argument("--eps", type=float, default=1e-8)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args(arguments)


def adamw(weights, options):
    import torch
    decayed = [weight for weight in weights.values() if weight.dim() >= 2]
    others = [weight for weight in weights.values() if weight.dim() < 2]
    groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    # One tensor after the other: the plainest of torch's three implementations.
    return torch.optim.AdamW(groups, lr=options.lr, betas=(options.beta1, options.beta2), eps=options.eps, foreach=False, fused=False)


def train(options):
    """The tensors of OUT."""
    import torch
    from plain_models import load, loss
    weights, config = load(options.family_dir, getattr(torch, options.dtype))
    for weight in weights.values():
        weight.requires_grad_()
    tokens = Draw(options.seed).tokens((options.steps, BATCH, LENGTH + 1), config["vocab_size"])
    optimizer = adamw(weights, options)
    losses, norms, out = [], [], {"tokens": tokens}
    for step in range(options.steps):
        optimizer.zero_grad()
        value = loss(config, weights, tokens[step])
        value.backward()
        if step == 0:
            out |= {f"grad.{name}": weight.grad.clone() for name, weight in weights.items()}
        norms.append(torch.nn.utils.clip_grad_norm_(weights.values(), options.clip, foreach=False))
        losses.append(value.detach())
        optimizer.step()
    out |= {f"weight.{name}": weight.detach() for name, weight in weights.items()}
    return out | {"losses": torch.stack(losses), "grad_norms": torch.stack(norms)}


def main(arguments=None):
    from safetensors.torch import save_file
    options = parse(arguments)
    one_thread()
    out = train(options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    told = {name: str(value) for name, value in vars(options).items() if name not in ("family_dir", "out")}
    save_file(out, options.out, metadata={"options": json.dumps(told, sort_keys=True)})
    print(f"{options.out.name}: loss {out['losses'][0]:.6f} to {out['losses'][-1]:.6f}, "
          f"norms {out['grad_norms'].min():.3f} .. {out['grad_norms'].max():.3f}")


if __name__ == "__main__":
    main()
