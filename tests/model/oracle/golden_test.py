#!/usr/bin/env python3
"""The files under tests/golden are what their makers make: made again in a temporary directory, and compared.

What one host computes differs from what another does in the last bits: matrix products, exponentials and square sums take
their terms in another order with AVX2 than with AVX-512, and with another version of oneDNN or MKL. Weights are drawn from
integers (oracle.Draw) and are the same bits everywhere; so are tokens, shapes and names.
"""
import json
import pathlib
import sys
import tempfile

from oracle import GOLDEN, SKIPPED, differences, missing

# Seen between kernels for AVX-512, for AVX2 and for neither (ATEN_CPU_CAPABILITY=default): at most 1.3e-6, which is 22 times a
# float's rounding error, from olmo, whose norms have nothing to damp it. Twice that is allowed; a double has 29 bits more.
LOGITS = {"logits": 3e-6, "logits_f64": 3e-6 / 2**29}


def files_below(directory):
    return {path.relative_to(directory) for path in directory.rglob("*") if path.is_file()}


def compare_file(new, golden, tolerance):
    """One line for each difference."""
    if new.suffix == ".json":
        return [] if json.loads(new.read_text()) == json.loads(golden.read_text()) else ["another text"]
    from safetensors.torch import load_file
    return differences(load_file(new), load_file(golden), tolerance)


def compare_trees(new, golden, tolerance):
    made, kept = files_below(new), files_below(golden)
    lines = [f"{path}: {'not made any more' if path in kept else 'not among the golden files'}" for path in sorted(made ^ kept)]
    for path in sorted(made & kept):
        lines += [f"{path}: {line}" for line in compare_file(new / path, golden / path, tolerance)]
    print(f"{golden.name}: {len(made & kept)} files compared, {len(lines)} differences")
    return [f"{golden.name}/{line}" for line in lines]


def check_models(scratch):
    from make_models import make_all
    make_all(scratch / "models")
    return compare_trees(scratch / "models", GOLDEN / "models", lambda name: LOGITS.get(name, 0.0))


def main():
    if reason := missing("torch", "numpy", "safetensors", "transformers"):
        print(f"skipped: {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        lines = check_models(pathlib.Path(scratch))
    for line in lines:
        print(f"FAILED: {line}")
    if lines:
        print("If the makers changed on purpose: make_models.py tests/golden/models, and say why in the commit.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
