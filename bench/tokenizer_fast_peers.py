#!/usr/bin/env python3
"""shoal beside quicktok and gigatoken on one core: rounds in turn, median of the ratios with quartiles.

    cmake --build --preset lean --target encode_rounds
    bench/tokenizer_fast_peers.py --data ../shared/data --text ../shared/data/corpora/war_and_peace.txt \\
        --quicktok QUICKTOK --gigatoken

Nothing here builds or installs them: QUICKTOK is a checkout of github.com/dmatth1/quicktok after its `make lib`,
gigatoken is what `pip install gigatoken` gives (PYTHONPATH may name where). Each runs in a process of its own, as
shoal does: warm rounds are one more pass in the same process, cold rounds the first pass in a new one, without the
time to read the vocabulary. Seconds are those of the processor: other work on the machine does not count, a second
thread would. Ids are compared before anything is timed. Ends with lines NAME VALUE.
"""
import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import time

from tokenizer_peers import ROOT, Rounds, quartiles

# What shoal reads, the name quicktok has for it (None: it ships no such vocabulary), and gigatoken's name for the
# splitting where the file does not tell it.
VOCABULARIES = {
    "gpt2": ("gpt2", None, None),
    "cl100k": ("cl100k_base.tiktoken", "cl100k_base", "gpt4"),
    "o200k": ("o200k_base.tiktoken", "o200k_base", "o200k"),
    "dolma2": ("dolma2", None, None),
}


def quicktok(directory, vocabulary):
    """Through its C interface. Gives a function that encodes a text, and one that has the bytes of its ids and frees them."""
    library = ctypes.CDLL(str(directory / "build" / "libquicktok.so"))
    library.qt_load_dir.restype = ctypes.c_void_p
    error = ctypes.create_string_buffer(1000)
    tokenizer = library.qt_load_dir(os.fsencode(directory / "data"), VOCABULARIES[vocabulary][1].encode(), error, len(error))
    if not tokenizer:
        sys.exit(f"quicktok: {error.value.decode()}")
    tokenizer = ctypes.c_void_p(tokenizer)
    ids, count = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_size_t()

    def encode(text):
        if library.qt_encode(tokenizer, text, ctypes.c_size_t(len(text)), ctypes.byref(ids), ctypes.byref(count)) != 0:
            sys.exit("quicktok: qt_encode failed")

    def take():
        data = ctypes.string_at(ids, 4 * count.value)
        library.qt_ids_free(ids)
        return data

    return encode, take


def gigatoken(data, vocabulary):
    """On the calling thread. Without the added tokens, which shoal does not look for in text either."""
    from gigatoken.gigatoken_rs import BPETokenizer, load_hf_json
    path, _, pattern = VOCABULARIES[vocabulary]
    if pattern:
        tokenizer = BPETokenizer.from_tiktoken(data / path, pattern)
    else:
        tokenizer = load_hf_json(json.dumps(json.loads((data / path / "tokenizer.json").read_text()) | {"added_tokens": []}))
    kept = []
    return lambda text: kept.append(tokenizer.encode(text)), lambda: kept.pop().tobytes()


def serve(options):
    """The other end of Rounds."""
    text = options.text[0].read_bytes()
    if options.serve == "quicktok":
        encode, take = quicktok(options.quicktok, options.vocabulary[0])
    else:
        encode, take = gigatoken(options.data, options.vocabulary[0])

    def answer():
        began, processor = time.perf_counter(), time.process_time()
        encode(text)
        used, seconds = time.process_time() - processor, time.perf_counter() - began
        data = take()
        return data, f"{seconds} {used}"

    encode(b"a")  # what is set up at first use, such as numpy for gigatoken, is not time to encode
    take()
    data, line = answer()
    print(hashlib.sha256(data).hexdigest(), line, sep="\n", flush=True)
    for _ in sys.stdin:
        print(answer()[1], flush=True)


def in_turn(rounds, mine, theirs):
    """Pairs of seconds; who goes first changes from round to round."""
    pairs = []
    for index in range(rounds):
        if index % 2 == 0:
            pairs.append((mine(), theirs()))
        else:
            other = theirs()
            pairs.append((mine(), other))
    return pairs


def measure(options, peer, vocabulary, text):
    """Prints a line for warm and one for cold rounds; gives lines NAME VALUE, or None where ids differ."""
    ours = [options.build / "tests" / "data" / "encode_rounds", options.data / VOCABULARIES[vocabulary][0], text]
    theirs = [sys.executable, __file__, "--serve", peer, "--data", options.data, "--text", text, "--vocabulary", vocabulary]
    if peer == "quicktok":
        theirs += ["--quicktok", options.quicktok]

    def cold(command):
        rounds = Rounds(command)
        rounds.end()
        return rounds.cold[1]

    mine, other = Rounds(ours), Rounds(theirs)
    same = mine.hash == other.hash
    if same:
        warm_pairs = in_turn(options.rounds, lambda: mine.warm()[1], lambda: other.warm()[1])
    mine.end()
    other.end()
    if not same:
        print(f"{peer} {vocabulary} {text.name}: other ids")
        return None
    cold_pairs = in_turn(options.rounds, lambda: cold(ours), lambda: cold(theirs))
    names = []
    size = text.stat().st_size
    for kind, pairs in (("warm", warm_pairs), ("cold", cold_pairs)):
        low, median, high = quartiles([b / a for a, b in pairs])
        our_rate, their_rate = (size / statistics.median(column) / 1e6 for column in zip(*pairs))
        print(f"{peer:9} {vocabulary:6} {text.stem:22} {kind} {their_rate:7.1f} MB/s   shoal {our_rate:7.1f} MB/s   "
              f"{median:.2f} ({low:.2f} .. {high:.2f}) times as fast", flush=True)
        names.append(f"tokenizer.times_{peer}.{vocabulary}.{text.stem}.{kind} {median:.2f}")
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--vocabulary", choices=VOCABULARIES, nargs="+", default=["gpt2", "cl100k"])
    parser.add_argument("--quicktok", type=pathlib.Path)
    parser.add_argument("--gigatoken", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "lean")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--serve", choices=["quicktok", "gigatoken"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return 0
    peers = []
    if options.quicktok:
        if not (options.quicktok / "build" / "libquicktok.so").exists():
            sys.exit(f"no build/libquicktok.so in {options.quicktok}: `make lib` there makes it")
        peers.append("quicktok")
    if options.gigatoken:
        if importlib.util.find_spec("gigatoken") is None:
            sys.exit("no gigatoken: `pip install gigatoken` brings it")
        peers.append("gigatoken")
    if not peers:
        parser.error("nobody to compare with: --quicktok DIR, --gigatoken")
    names, equal = [], True
    for peer in peers:
        for vocabulary in options.vocabulary:
            if peer == "quicktok" and VOCABULARIES[vocabulary][1] is None:
                print(f"{peer:9} {vocabulary:6} not among its vocabularies")
                continue
            for text in options.text:
                lines = measure(options, peer, vocabulary, text)
                equal = equal and lines is not None
                names += lines or []
    print("\n" + "\n".join(names))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
