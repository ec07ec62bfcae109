#!/usr/bin/env python3
"""Our ids against those of others: golden counts, llama.cpp's vectors, tiktoken and HF tokenizers.

The corpora and vocabularies are not part of this tree: SHOAL_TEST_DATA names their directory (default: ../shared/data beside it).
SHOAL_ORACLE_STRINGS is how many random strings are compared (default 500), SHOAL_ORACLE_TEXT a file or directory of more text.
In the nightly run (SHOAL_NIGHTLY) there are 2,000, and whole corpora. SHOAL_SEED draws other strings.
"""
import base64
import hashlib
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

from beside_others import BINARIES, DATA, SHOAL, check, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from shards import share_of  # noqa: E402

VOCABULARIES = {"gpt2": DATA / "gpt2" / "tokenizer.json", "cl100k": DATA / "cl100k_base.tiktoken", "o200k": DATA / "o200k_base.tiktoken"}


def our_count(vocabulary, path):
    out = subprocess.run([SHOAL, "tokenizer", "encode", "--tokenizer", vocabulary, "--count", "--json", path],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["ids"]


def our_ids(vocabulary, texts):
    """One list of ids per text; bytes or str."""
    records = bytearray()
    for text in texts:
        data = text if isinstance(text, bytes) else text.encode()
        records += struct.pack("<I", len(data)) + data
    out = subprocess.run([BINARIES / "tests" / "data" / "encode_records", vocabulary], input=bytes(records), check=True,
                         capture_output=True).stdout
    lists, at = [], 0
    while at < len(out):
        (count,) = struct.unpack_from("<I", out, at)
        lists.append(list(struct.unpack_from(f"<{count}I", out, at + 4)))
        at += 4 + 4 * count
    check(len(lists) == len(texts), f"{len(lists)} answers for {len(texts)} texts")
    return lists


def corpus_file(name, scratch):
    if not name.startswith("udhr2.zip"):
        return DATA / "corpora" / name
    path = pathlib.Path(scratch) / "udhr2.txt"
    with zipfile.ZipFile(DATA / "corpora" / "udhr2.zip") as archive:
        path.write_bytes(b"".join(archive.read(n) for n in sorted(archive.namelist()) if n.endswith(".txt")))
    return path


def check_gold(scratch):
    gold = json.loads((DATA / "gold_token_counts.json").read_text())
    for name, expected in gold.items():
        path = corpus_file(name, scratch)
        for vocabulary, file in VOCABULARIES.items():
            ids = our_count(file, path)
            want = expected[vocabulary]
            check((ids["count"], ids["sha256"]) == (want["tokens"], want["sha256_u32le"]), f"{name} with {vocabulary}: {ids}")
    print(f"golden counts: {len(gold)} corpora x {len(VOCABULARIES)} vocabularies")
    # The three forms of one vocabulary agree.
    with tempfile.TemporaryDirectory() as directory:
        for name in ("encoder.json", "vocab.bpe"):
            (pathlib.Path(directory) / name).symlink_to(DATA / "gpt2" / name)
        shakespeare = DATA / "corpora" / "tinyshakespeare.txt"
        check(our_count(directory, shakespeare) == our_count(VOCABULARIES["gpt2"], shakespeare), "encoder.json and vocab.bpe")
        check(our_count(DATA / "dolma2", shakespeare) == our_count(VOCABULARIES["cl100k"], shakespeare), "dolma2 and cl100k")


def check_vectors(_scratch):
    base = DATA / "parity" / "llamacpp-gpt-2"
    texts = base.with_suffix(".inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    # Only line ends part the answers: "" is a text too, whose line is empty.
    answers = base.with_suffix(".out").read_text().split("\n")[:len(texts)]
    for text, ids, answer in zip(texts, our_ids(VOCABULARIES["gpt2"], texts), answers, strict=True):
        check(ids == [int(word) for word in answer.split()], f"llama.cpp's vector {text!r}")
    print(f"llama.cpp: {len(texts)} vectors")


def random_strings(count, seed):
    rng = random.Random(seed)
    pools = [
        "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", " \t\n\r\u00a0\u3000\u2028\x0b\x1c\x85",
        "'.,;:!?\"()[]{}<>/\\|@#$%^&*-_=+`~", "éèüßñçøåÆŒſKİı", "中文字日本語한국어ภาษาไทยعربيעברית", "\u0301\u0308\u200b\u200d\ufe0f",
        "½²Ⅳ٣৪𝟛", "😀🎉🦙👩\u200d🚀🇩🇪", "ǅǈᾈʰˑªº", "\U0001e900\U00010400\U0001d400",
    ]
    words = ["'s", "'S", "'ll", "'LL", "'re", "'Ve", "'m", "'D", "'ſ", "the", " the", "  ", "\n\n", "\r\n", " \n ", "://", "https", "camelCase",
             "HTTPServer", "<|endoftext|>", "e\u0301", "   x", "1234567", "aaaaaaaaaaaaaaaa", "ÀÉ", "中AAAb", "中AAA"]
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 12)):
            kind = rng.random()
            if kind < 0.45:
                parts.append(rng.choice(words))
            elif kind < 0.9:
                pool = rng.choice(pools)
                parts.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 4))))
            else:
                code = rng.randrange(0x110000)
                parts.append(chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd")
        yield "".join(parts)


def every_code_point():
    """Each one between letters, before a letter and behind a blank, a few hundred to a text."""
    parts = [f"a{chr(c)}b {chr(c)} {chr(c)}C" for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return ["".join(parts[i:i + 256]) for i in range(0, len(parts), 256)]


def tiktoken_patterns():
    return {
        "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
        "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
        "o200k": "|".join([
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""]),
    }


def tiktoken_encodings():
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe
    patterns = tiktoken_patterns()
    ranks = {
        "gpt2": data_gym_to_mergeable_bpe_ranks(str(DATA / "gpt2" / "vocab.bpe"), str(DATA / "gpt2" / "encoder.json")),
        "cl100k": load_tiktoken_bpe(str(VOCABULARIES["cl100k"])),
        "o200k": load_tiktoken_bpe(str(VOCABULARIES["o200k"])),
    }
    return {name: tiktoken.Encoding(name, pat_str=patterns[name], mergeable_ranks=ranks[name], special_tokens={}) for name in patterns}


def more_texts(path):
    """Files below `path` as texts, the smaller ones first, up to 100 MB; the oracles take only text, so other bytes are replaced."""
    path = pathlib.Path(path)
    total = 0
    for file in sorted(path.rglob("*"), key=lambda f: (f.stat().st_size, f.name)) if path.is_dir() else [path]:
        total += file.stat().st_size if file.is_file() else 0
        if total > 100_000_000:
            return
        if file.is_file():
            yield file.read_bytes().decode(errors="replace")


def compare(name, texts, encode_ours, encode_theirs):
    """In batches, because ids of Python take ten times the memory of their text."""
    wrong, batch, batch_bytes = [], [], 0
    for index, text in enumerate(texts):
        batch.append(text)
        batch_bytes += len(text)
        if batch_bytes >= 4_000_000 or index + 1 == len(texts):
            wrong += [(t, a, b) for t, a, b in zip(batch, encode_ours(batch), encode_theirs(batch), strict=True) if a != b]
            batch, batch_bytes = [], 0
    for text, a, b in wrong[:5]:
        print(f"  {text[:200]!r}\n    ours   {a[:20]}\n    theirs {b[:20]}")
    size = sum(len(t.encode()) for t in texts)
    check(not wrong, f"{name}: {len(wrong)} of {len(texts)} texts differ")
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    print(f"{name}: {len(texts)} texts, {size / 1e6:.1f} MB, sha256 {digest}: {'equal' if not wrong else 'DIFFERENT'}")


def texts_to_compare(scratch):
    """Random strings, and corpora."""
    nightly = "SHOAL_NIGHTLY" in os.environ
    texts = list(random_strings(int(os.environ.get("SHOAL_ORACLE_STRINGS", "2000" if nightly else "500")), seed=int(os.environ.get("SHOAL_SEED", "4"))))
    gold = json.loads((DATA / "gold_token_counts.json").read_text()) if nightly else []
    corpora = [corpus_file(name, scratch).read_bytes().decode() for name in gold]
    if extra := os.environ.get("SHOAL_ORACLE_TEXT"):
        corpora += more_texts(extra)
    return texts, corpora


def check_tiktoken(scratch):
    texts, corpora = texts_to_compare(scratch)
    for name, encoding in tiktoken_encodings().items():
        ours = lambda batch, file=VOCABULARIES[name]: our_ids(file, batch)
        theirs = lambda batch, encoding=encoding: [encoding.encode_ordinary(text) for text in batch]
        compare(f"tiktoken {name}, random strings", texts, ours, theirs)
        compare(f"tiktoken {name}, every code point", every_code_point(), ours, theirs)
        compare(f"tiktoken {name}, corpora", corpora, ours, theirs)


def check_hf(scratch):
    from tokenizers import Tokenizer
    texts, corpora = texts_to_compare(scratch)
    for name, file in (("gpt2", VOCABULARIES["gpt2"]), ("dolma2", DATA / "dolma2" / "tokenizer.json")):
        hf = Tokenizer.from_file(str(file))
        hf.encode_special_tokens = True
        ours = lambda batch, file=file: our_ids(file, batch)
        theirs = lambda batch, hf=hf: [e.ids for e in hf.encode_batch(batch, add_special_tokens=False)]
        compare(f"HF {name}, random strings", texts, ours, theirs)
        if len(texts) >= 1_000_000:
            compare(f"HF {name}, every code point", every_code_point(), ours, theirs)
        compare(f"HF {name}, corpora", corpora, ours, theirs)


def check_ignore_merges(scratch):
    """Llama 3's rule, on GPT-2's vocabulary with every third merge taken away: most long tokens are then reached by no merge."""
    from tokenizers import Tokenizer
    tokenizer = json.loads(VOCABULARIES["gpt2"].read_text())
    merges = [m for i, m in enumerate(tokenizer["model"]["merges"]) if i % 3 != 2]
    texts = list(random_strings(5000, seed=5)) + (DATA / "corpora" / "wikitext2_valid.txt").read_text().split("\n")
    lists = []
    for ignore in (False, True):
        tokenizer["model"] |= {"merges": merges, "ignore_merges": ignore, "type": "BPE"}
        file = pathlib.Path(scratch) / f"ignore_{ignore}.json"
        file.write_text(json.dumps(tokenizer))
        hf = Tokenizer.from_file(str(file))
        hf.encode_special_tokens = True
        compare(f"HF, ignore_merges {ignore}", texts, lambda batch, file=file: our_ids(file, batch),
                lambda batch, hf=hf: [e.ids for e in hf.encode_batch(batch, add_special_tokens=False)])
        lists.append(our_ids(file, texts))
    check(lists[0] != lists[1], "ignore_merges changes something")


def random_ranks(rng):
    """All bytes in any order, then tokens of a few letters, most of which no merge reaches."""
    tokens = [bytes([byte]) for byte in rng.sample(range(256), 256)]
    count = rng.choice([1, 2, 17, 211])
    while len(tokens) < 256 + count:
        token = "".join(rng.choices("ab c1.é", k=rng.choice([2, 3, 3, 4, 5, 16, 17, 31]))).encode()
        if token not in tokens:
            tokens.append(token)
    return {token: rank for rank, token in enumerate(tokens)}


def check_unreachable_ranks(scratch):
    """tiktoken takes a piece that is a token as a whole, also where no merge leads to it: a rank file is no list of merges."""
    import tiktoken
    rng = random.Random(6)
    pattern = tiktoken_patterns()["cl100k"]
    file = pathlib.Path(scratch) / "cl100k_base.tiktoken"  # the name tells the pattern
    only_abc = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256}
    unreached = 0
    for number, ranks in enumerate([only_abc, *(random_ranks(rng) for _ in range(23))]):
        file.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
        encoding = tiktoken.Encoding("random", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        alone = [token.decode() for token in ranks if len(token) > 1]
        spoken = ["".join(rng.choices(alone + ["a", "b ", "1", ".", "x"], k=rng.randint(1, 9))) for _ in range(301)]
        texts = alone + spoken
        ours, theirs = our_ids(file, texts), [encoding.encode_ordinary(text) for text in texts]
        wrong = [(text, a, b) for text, a, b in zip(texts, ours, theirs, strict=True) if a != b]
        check(not wrong, f"ranks {number}: {len(wrong)} of {len(texts)} texts differ from tiktoken, such as {wrong[:1]}")
        unreached += sum(ids == [ranks[text.encode()]] for text, ids in zip(alone, theirs))
    check(unreached > 100, f"only {unreached} tokens were pieces")
    print(f"tiktoken, tokens that no merge reaches: {unreached} tokens in 24 vocabularies")


def main():
    checks = [check_gold, check_vectors, check_tiktoken, check_ignore_merges, check_unreachable_ranks, check_hf]
    try:
        import tiktoken  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as missing:
        print(f"not compared with tiktoken and HF tokenizers: {missing} (tools/deps.sh check)")
        checks = checks[:2]
    with tempfile.TemporaryDirectory() as scratch:
        for one in share_of(checks):
            one(scratch)


if __name__ == "__main__":
    sys.exit(run(main))
