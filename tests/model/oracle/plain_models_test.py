#!/usr/bin/env python3
"""Two oracles that know nothing of each other agree: plain_models and what transformers computed (tests/golden/models)."""
import sys

from oracle import GOLDEN, SKIPPED, distance, missing, one_thread

# Of the largest logit; a float's rounding error is 6e-8. What a wrong constant or a missing term does is far larger.
FLOAT, DOUBLE = 1e-5, 1e-12


def compare(family):
    """How far apart they are, by what is compared."""
    import torch
    from plain_models import forward, load
    from safetensors.torch import load_file
    golden = load_file(GOLDEN / "models" / family / "golden.safetensors")
    logits = {}
    for dtype in (torch.float32, torch.float64):
        weights, config = load(GOLDEN / "models" / family, dtype)
        logits[dtype] = forward(config, weights, golden["input_ids"])
    found = {
        "float": (distance(logits[torch.float32], golden["logits"]), FLOAT),
        "float beside double": (distance(golden["logits"], logits[torch.float64]), FLOAT),
    }
    if "logits_f64" in golden:
        found["double"] = (distance(logits[torch.float64], golden["logits_f64"]), DOUBLE)
    return found


def check_shards():
    """The weights in several files are those in one."""
    import torch
    from plain_models import load
    one, several = (load(GOLDEN / "models" / name, torch.float32)[0] for name in ("llama", "llama_sharded"))
    return one.keys() == several.keys() and all(torch.equal(one[name], several[name]) for name in one)


def main():
    if reason := missing("torch", "numpy", "safetensors"):
        print(f"skipped: {reason}")
        return SKIPPED
    one_thread()
    wrong = 0
    for family in ("gpt2", "llama", "llama3", "olmo", "olmo2", "qwen2", "qwen3"):
        for what, (apart, limit) in compare(family).items():
            good = apart <= limit
            wrong += not good
            print(f"{'ok' if good else 'FAILED'}: {family} in {what}: {apart:.2g} apart, allowed {limit:.0e}")
    if not check_shards():
        wrong += 1
        print("FAILED: llama_sharded holds other weights than llama")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
