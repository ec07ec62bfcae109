#!/usr/bin/env python3
"""shoal beside tiktoken and HF tokenizers on one core: rounds in turn, median of the ratios with quartiles.

    tools/deps.sh check
    bench/tokenizer_peers.py --data ../shared/data --text ../shared/data/corpora/war_and_peace.txt

Ids are compared before anything is timed. Ends with lines NAME VALUE.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".deps" / "site"))


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


class Rounds:
    """A process that keeps its encoder: the hash of the ids, then for the first pass and for each line it is sent
    the seconds and those of the processor."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hash = self.process.stdout.readline().strip()
        self.cold = self.answer()

    def answer(self):
        seconds, processor = self.process.stdout.readline().split()
        return float(seconds), float(processor)

    def warm(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.communicate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    import hashlib
    import struct

    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    from tokenizers import Tokenizer
    text = options.text.read_bytes().decode()
    size = len(text.encode())
    gpt2 = tiktoken.Encoding(
        "gpt2", pat_str=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
        mergeable_ranks=data_gym_to_mergeable_bpe_ranks(str(options.data / "gpt2" / "vocab.bpe"), str(options.data / "gpt2" / "encoder.json")),
        special_tokens={})
    hf = Tokenizer.from_file(str(options.data / "gpt2" / "tokenizer.json"))
    ours = Rounds([options.build / "tests" / "data" / "encode_rounds", options.data / "gpt2", options.text])
    peers = {"tiktoken": lambda: gpt2.encode_ordinary(text), "hf": lambda: hf.encode(text, add_special_tokens=False).ids}
    names = []
    for name, encode in peers.items():
        ids = encode()
        same = hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest() == ours.hash
        if not same:
            print(f"{name} gives other ids")
            return 1
        ratios, mine, theirs = [], [], []
        for _ in range(options.rounds):
            mine.append(ours.warm()[0])
            began = time.perf_counter()
            encode()
            theirs.append(time.perf_counter() - began)
            ratios.append(theirs[-1] / mine[-1])
        low, median, high = quartiles(ratios)
        print(f"{name:9} {size / statistics.median(theirs) / 1e6:7.1f} MB/s   shoal {size / statistics.median(mine) / 1e6:7.1f} MB/s   "
              f"{median:.1f} ({low:.1f} .. {high:.1f}) times as fast")
        names.append(f"tokenizer.times_{name} {median:.2f}")
    print("\n" + "\n".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
