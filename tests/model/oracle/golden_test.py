#!/usr/bin/env python3
"""The files under tests/golden are what their makers make: made again in a temporary directory, and compared.

    tests/model/oracle/golden_test.py [--write]     --write makes them in their place

What one host computes differs from what another does in the last bits: matrix products, exponentials and square sums take
their terms in another order with AVX2 than with AVX-512, and with another version of oneDNN or MKL. Weights are drawn from
integers (oracle.Draw) and are the same bits everywhere; so are tokens, shapes and names.
"""
import json
import pathlib
import sys
import tempfile

from oracle import GOLDEN, SKIPPED, differences, missing, without_key_bias

# Distances are relative to the largest number of a tensor. Seen between kernels for AVX-512, for AVX2 and for neither
# (ATEN_CPU_CAPABILITY=default), of all families: at most 1.3e-6. A double has 29 bits more than a float.
LOGITS = {"logits": 3e-6, "logits_f64": 3e-6 / 2**29}
# Of training, between the same and with inputs changed in their last bits. Losses, norms, gradients: at most 1.5e-6 in float and
# 3e-15 in double. Weights: 1.2e-5 and 1.8e-14, both in one element of one matrix: AdamW divides by the size of a gradient, and
# where that is hardly more than its rounding error, the step is uncertain. 1e-4 is a twentieth of a step of 1e-3 here, where the
# largest weight of that matrix is 0.53.
TRAINING = {"f32": 1e-5, "f64": 1e-5 / 2**29}
TRAINED_WEIGHTS = {"f32": 1e-4, "f64": 1e-4 / 2**29}


def files_below(directory, pattern):
    return {path.relative_to(directory) for path in directory.rglob(pattern) if path.is_file()}


def compare_file(new, golden, tolerance):
    """One line for each difference."""
    if new.suffix == ".json":
        return [] if json.loads(new.read_text()) == json.loads(golden.read_text()) else ["another text"]
    from safetensors.torch import load_file
    return differences(without_key_bias(load_file(new)), without_key_bias(load_file(golden)), tolerance)


def compare_trees(new, golden, tolerance, pattern="*"):
    made, kept = files_below(new, pattern), files_below(golden, pattern)
    lines = [f"{path}: {'not made any more' if path in kept else 'not among the golden files'}" for path in sorted(made ^ kept)]
    for path in sorted(made & kept):
        lines += [f"{path}: {line}" for line in compare_file(new / path, golden / path, tolerance)]
    print(f"{golden.name}/{pattern}: {len(made & kept)} files compared, {len(lines)} differences")
    return [f"{golden.name}/{line}" for line in lines]


def check_models(scratch):
    from make_models import make_all
    make_all(scratch / "models")
    return compare_trees(scratch / "models", GOLDEN / "models", lambda name: LOGITS.get(name, 0.0))


def make_training(out):
    """From the golden weights."""
    from train_steps import main as train_steps
    for family in ("gpt2", "llama"):
        for bits in ("64", "32"):
            train_steps([str(GOLDEN / "models" / family), str(out / f"{family}_f{bits}.safetensors"), "--dtype", f"float{bits}"])


def training_tolerance(bits):
    def tolerance(name):
        if name == "tokens":
            return 0.0
        return (TRAINED_WEIGHTS if name.startswith("weight.") else TRAINING)[bits]
    return tolerance


def check_training(scratch):
    """Made again, and in float as in double."""
    from safetensors.torch import load_file
    new, golden = scratch / "training", GOLDEN / "training"
    make_training(new)
    lines = []
    for bits in TRAINING:
        lines += compare_trees(new, golden, training_tolerance(bits), f"*_{bits}.safetensors")
    for path in sorted(golden.glob("*_f32.safetensors")):
        double = load_file(path.with_name(path.name.replace("f32", "f64")))
        as_float = {name: tensor if name == "tokens" else tensor.float() for name, tensor in double.items()}
        found = differences(without_key_bias(load_file(path)), without_key_bias(as_float), training_tolerance("f32"))
        lines += [f"{path.name} beside double: {line}" for line in found]
    return lines


def write():
    from make_models import make_all
    make_all(GOLDEN / "models")
    make_training(GOLDEN / "training")


def main():
    if reason := missing("torch", "numpy", "safetensors", "transformers"):
        print(f"skipped: {reason}")
        return SKIPPED
    if sys.argv[1:] == ["--write"]:
        write()
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        lines = check_models(pathlib.Path(scratch)) + check_training(pathlib.Path(scratch))
    for line in lines:
        print(f"FAILED: {line}")
    if lines:
        print("If the makers changed on purpose: golden_test.py --write, and say why in the commit.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
