#!/usr/bin/env python3
"""Training against others: HF's trainer on three corpora, and the cs336 reference with its own tie-break."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import beside_others
from beside_others import DATA, SHOAL, run


def check(holds, what):
    if beside_others.check(holds, what):
        print(f"ok: {what}")


def train(files, output, *options):
    began = time.monotonic()
    subprocess.run([SHOAL, "tokenizer", "train", "--output", output, *options, *files], check=True, capture_output=True)
    seconds = time.monotonic() - began
    return json.loads((pathlib.Path(output) / "tokenizer.json").read_text()), seconds


def same_for_any_number_of_threads(file, scratch):
    texts = set()
    for threads in (1, 2, 3, 7):
        train([file], scratch, "--vocab-size", "1000", "--threads", str(threads), "--added", "<|endoftext|>")
        texts.add((pathlib.Path(scratch) / "tokenizer.json").read_bytes() + (pathlib.Path(scratch) / "tokenizer.tiktoken").read_bytes())
    check(len(texts) == 1, "the same files for 1, 2, 3 and 7 threads")


def equal_to_hf(name, size, scratch):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    file = DATA / "corpora" / name
    ours, our_seconds = train([file], scratch, "--vocab-size", str(size), "--added", "<|endoftext|>")
    hf = Tokenizer(models.BPE())
    hf.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    text = file.read_bytes().decode()
    began = time.monotonic()
    # As one text: from files HF takes each line for a document of its own.
    hf.train_from_iterator([text], trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], show_progress=False,
                                              initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    seconds = time.monotonic() - began
    theirs = json.loads(hf.to_str())["model"]
    check(ours["model"]["merges"] == [list(m) if isinstance(m, list) else m.split(" ") for m in theirs["merges"]],
          f"{name}: {len(theirs['merges'])} merges as HF's trainer ({our_seconds:.2f} s, HF {seconds:.2f} s)")
    check(ours["model"]["vocab"] == theirs["vocab"], f"{name}: the same ids")
    # What was written is what HF reads, and both encode alike.
    text = text[:200_000]
    read_back = Tokenizer.from_file(str(pathlib.Path(scratch) / "tokenizer.json"))
    check(read_back.encode(text).ids == hf.encode(text).ids, f"{name}: HF reads the file and encodes alike")


def equal_to_cs336(scratch):
    base = DATA / "bpe_train_ref"
    ours, seconds = train([base / "corpus.en"], scratch, "--vocab-size", "500", "--added", "<|endoftext|>", "--tie-break", "greater-bytes")
    expected = [line.rstrip("\n").split(" ") for line in (base / "train-bpe-reference-merges.txt").open(encoding="utf-8")]
    check(ours["model"]["merges"] == expected, f"cs336: {len(expected)} merges ({seconds:.2f} s)")
    vocab = json.loads((base / "train-bpe-reference-vocab.json").read_text())
    check(set(ours["model"]["vocab"]) == set(vocab), "cs336: the same tokens")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        same_for_any_number_of_threads(DATA / "corpora" / "tinyshakespeare.txt", scratch)
        equal_to_cs336(scratch)
        try:
            import tokenizers  # noqa: F401
        except ImportError as missing:
            print(f"not compared with HF's trainer: {missing} (tools/deps.sh check)")
        else:
            equal_to_hf("tinyshakespeare.txt", 5003, scratch)
            equal_to_hf("ja_wagahaiwa_nekodearu.txt", 3001, scratch)
            equal_to_hf("wikitext2_valid.txt", 12007, scratch)


if __name__ == "__main__":
    sys.exit(run(main))
