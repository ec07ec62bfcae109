#!/usr/bin/env python3
"""transformers opens what `shoal checkpoint export` writes, and it is the model it was: same scores, same greedy tokens.

The models went into shoal from transformers' own directories (tests/golden/models), so this is the whole way there and back. Also a
trained run of shoal's own, a GPT without biases, whose scores shoal and transformers must agree on.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from oracle import GOLDEN, SKIPPED, distance, missing, one_thread

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from shards import share_of  # noqa: E402

FAMILIES = ("gpt2", "llama", "llama3", "llama_sharded", "olmo", "olmo2", "qwen2", "qwen3")
LIMIT = 1e-5  # of the largest logit; the weights are the same bits, the golden logits were computed by this very code
NEW_TOKENS = 11


def shoal(*words, cwd=None):
    done = subprocess.run([os.environ["SHOAL_BINARY_DIR"] + "/shoal", *map(str, words)], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"shoal {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def opened(directory):
    import torch
    from transformers import AutoModelForCausalLM
    model, info = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, output_loading_info=True)
    left = {key: names for key, names in info.items() if names}
    return model.eval(), left


def check_family(family, scratch):
    import torch
    from safetensors.torch import load_file
    golden = load_file(GOLDEN / "models" / family.replace("_sharded", "") / "golden.safetensors")
    out = scratch / family
    shoal("checkpoint", "export", GOLDEN / "models" / family, "--output", out)
    model, left = opened(out)
    with torch.no_grad():
        apart = distance(model(golden["input_ids"]).logits, golden["logits"])
    tokens = model.generate(golden["input_ids"], attention_mask=torch.ones_like(golden["input_ids"]), do_sample=False,
                            max_new_tokens=NEW_TOKENS)
    same = torch.equal(tokens, golden["greedy"])
    good = apart <= LIMIT and same and not left
    print(f"{'ok' if good else 'FAILED'}: {family}: {apart:.2g} apart, greedy tokens {'equal' if same else 'DIFFER'}, left over {left}")
    return good


def check_run(scratch):
    """A run of ours: the loss that shoal finds on its validation split is transformers' too."""
    import torch
    (scratch / "text.txt").write_text("the shoal swims in deep water and the water is deep\n" * 300)
    shoal("tokenizer", "train", "text.txt", "--kind", "character", "--output", "tok", cwd=scratch)
    shoal("prepare", "--input", "text.txt", "--tokenizer", "tok", "--output", "tokens", "--validation", "tail:0.2", cwd=scratch)
    sets = ("model.layers=2", "model.heads=3", "model.width=30", "model.context=23", "model.bias=none", "data.sources=[tokens]",
            "train.steps=20", "train.batch=5", "optimizer.lr=1e-2", "optimizer.warmup=2")
    shoal("train", *(word for text in sets for word in ("--set", text)), cwd=scratch)
    shoal("checkpoint", "export", "runs/unnamed", "--output", "exported", cwd=scratch)
    model, left = opened(scratch / "exported")
    said = [shoal("generate", where, "--tokenizer", "tok", "--prompt", "the wat", "--max-new-tokens", 12, "--temperature", 0, cwd=scratch)
            for where in ("runs/unnamed", "exported")]
    letters = sorted(set((scratch / "text.txt").read_text()))
    prompt = torch.tensor([[letters.index(letter) for letter in "the wat"]])
    tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=12)
    theirs = "".join(letters[i] for i in tokens[0, prompt.shape[1]:].tolist())
    good = said[0] == said[1] and theirs.strip() in said[0] and not left
    print(f"{'ok' if good else 'FAILED'}: a run of ours says {said[0]!r}, its export {said[1]!r}, transformers {theirs!r}, left over {left}")
    return good


def main():
    if reason := missing("torch", "numpy", "safetensors", "transformers"):
        print(f"skipped: {reason}")
        return SKIPPED
    one_thread()
    with tempfile.TemporaryDirectory() as scratch:
        results = [check_family(family, pathlib.Path(scratch)) for family in share_of(FAMILIES)]
        results.append(check_run(pathlib.Path(scratch)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
