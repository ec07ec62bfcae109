#!/usr/bin/env python3
"""Documents longer than what shoal prepare holds of them: judged as a whole, and read in little memory.

Python's xxhash is the oracle for splits, the byte tokenizer for ids.
"""
import gzip
import json
import os
import random
import subprocess
import unittest

from prepare_test import END, SHOAL, Prepare, digest_of, load_tests, tables  # noqa: F401

import xxhash  # noqa: E402: prepare_test has told where it is

HEAD = 4 << 20  # bytes of a document that tell its split
SPLITS = ("train", "validation")


def english(size, seed):
    chooser = random.Random(seed)
    words = [f"word{number} " if number % 11 else f"{number}.\n" for number in range(997)]
    return "".join(chooser.choices(words, k=size // 5))[:size]


def japanese(size, seed):
    """A text without any place that is a border in every tokenizer's pattern."""
    chooser = random.Random(seed)
    return "".join(chooser.choices(["吾輩は", "猫である", "。", "名前は", "まだ無い", "、"], k=size // 6)).encode()[:size // 3 * 3].decode()


def split_of(text, share):
    return "validation" if xxhash.xxh3_128_intdigest(text.encode()[:HEAD]) >> 64 < share * 2**64 else "train"


class LongDocuments(Prepare):
    def write(self, name, text):
        path = self.path(name)
        path.parent.mkdir(exist_ok=True)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode(), compresslevel=1))
        else:
            path.write_text(text)
        return path

    def found(self, output, split="train"):
        """All documents of a split: what stands between the ends, in rows and shards as they come."""
        ids = [id for table in tables(self.path(output), split) for id in table["input_ids"].combine_chunks().flatten().to_pylist()]
        found = []
        while ids:
            end = ids.index(END) if END in ids else len(ids)
            found.append(bytes(ids[:end]).decode())
            ids = ids[end + 1:]
        return found

    def counts(self, output):
        counts = json.loads((self.path(output) / "manifest.json").read_text())
        return counts["input"]["documents"], counts["input"]["duplicates"]

    def check(self, output, expected, split="train"):
        found = self.found(output, split)
        self.assertEqual([len(doc) for doc in found], [len(doc) for doc in expected])
        # Not assertEqual for all of it, whose difference takes hours.
        self.assertTrue(found == expected, "documents of the right lengths, but others")

    def test_a_longer_version_is_no_copy(self):
        old = english(6_000_011, seed=1)
        new = old + english(1_000_003, seed=2)
        self.write("in/1.txt", old)
        self.write("in/2.txt", new)
        self.byte("out", self.path("in"), "--deduplicate", "--validation", "none")
        self.assertEqual(self.counts("out"), (2, 0))
        self.check("out", [old, new])

    def test_copies_are_found_wherever_they_stand(self):
        doc = english(6_188_911, seed=3)
        self.write("in/1.txt", "\n====\n".join([doc, "small", doc]))
        self.write("in/2.txt.gz", f"another\n====\n{doc}")
        self.write("in/3.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in ("small", doc)))
        self.byte("out", self.path("in"), "--separator", "\\n====\\n", "--deduplicate", "--validation", "none")
        self.assertEqual(self.counts("out"), (7, 4))
        self.check("out", [doc, "small", "another"])

    def test_copies_are_in_one_split(self):
        for seed, size in ((4, HEAD - 1), (5, HEAD + 1), (6, 5_000_011), (7, 6_188_911), (8, 6_188_913)):
            doc = english(size, seed)
            self.write(f"in{seed}/1.txt", f"{'small ' * seed}\n====\n{doc}\n====\n")
            self.write(f"in{seed}/2.txt", doc)
            self.write(f"in{seed}/3.jsonl", json.dumps({"text": doc}))
            self.byte(f"out{seed}", self.path(f"in{seed}"), "--separator", "\\n====\\n", "--validation", "hash:0.5")
            lengths = {split: [len(text) for text in self.found(f"out{seed}", split) if len(text) > 1000] for split in SPLITS}
            expected = split_of(doc, 0.5)
            self.assertEqual(lengths, {split: [size] * 3 if split == expected else [] for split in SPLITS})

    def test_compressed_texts_end(self):
        """Also where a document may be cut anywhere, and ends where a read does."""
        docs = [japanese(size, seed) for seed, size in enumerate((4_680_000, 4_194_303, 4_980_003, 39))]
        for number, doc in enumerate(docs):
            self.write(f"in/{number}.txt.gz", doc)
        self.byte("out", self.path("in"), "--validation", "none")
        self.assertEqual(self.counts("out"), (4, 0))
        self.check("out", docs)

    def test_memory_without_borders(self):
        """Of a text in one shard: what has no border in every pattern, read on by its first slice, and English, in one slice."""
        peak = {}
        for write, part_bytes in ((japanese, "auto"), (english, 64 << 20)):
            name = write.__name__
            with self.path(f"{name}.txt").open("w") as file:
                for _ in range(31):  # a child begins with the memory of this process, as far as the kernel counts it
                    file.write(write(999_999, seed=9))
            child = subprocess.Popen([SHOAL, "prepare", "--input", self.path(f"{name}.txt"), "--tokenizer", "byte", "--threads", "1",
                                      "--validation", "none", "--part-bytes", str(part_bytes), "--output", self.path(name)],
                                     stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            peak[name] = usage.ru_maxrss // 1024
            shards = json.loads((self.path(name) / "manifest.json").read_text())["train"]["shards"]
            self.assertEqual([shard["tokens"] for shard in shards], [self.path(f"{name}.txt").stat().st_size + 1])
        print(f"MiB: {peak}")
        self.assertLess(peak["japanese"], peak["english"] + 32)

    def test_a_text_in_many_parts_is_in_one_split(self):
        docs = [english(300_007 + 1009 * seed, seed) for seed in range(11, 18)] + [english(1_933_001, 18)]
        for number, doc in enumerate(docs):
            self.write(f"in/{number}.txt", doc)
        self.byte("out", self.path("in"), "--validation", "hash:0.5", "--part-bytes", 100_003)
        self.assertEqual(self.counts("out"), (8, 0))
        shares = [split_of(doc, 0.5) for doc in docs]
        self.assertEqual(set(shares), set(SPLITS))
        for split in SPLITS:
            self.check("out", [doc for doc, share in zip(docs, shares) if share == split], split)

    def test_a_text_in_many_parts_is_compared_as_a_whole(self):
        """Also where its slices are those of others, or of itself."""
        half = english(200_003, seed=19)
        docs = [half * 2, english(300_007, seed=20), half + english(200_003, seed=21)]
        names = ["0.txt", "1.txt", "2.txt"]
        for name, doc in zip([*names, "3.txt", "4.txt", "5.txt.gz", "6.txt"], [*docs, docs[1], docs[0], docs[2], "short"]):
            self.write(f"in/{name}", doc)
        words = ["--validation", "none", "--deduplicate", "--part-bytes", 100_003]
        self.byte("out", self.path("in"), *words)
        self.assertEqual(self.counts("out"), (7, 3))
        self.check("out", [*docs, "short"])
        self.byte("ranks", self.path("in"), *words, ranks=3)
        self.assertEqual(digest_of(self.path("ranks")), digest_of(self.path("out")))

    def test_a_preparation_by_other_rules_is_refused(self):
        source = self.write("a.txt", "one")
        self.byte("out", source)
        path = self.path("out/preparation.json")
        path.write_text(path.read_text().replace('"version": 2, ', ""))  # as it was before
        self.assertIn("another version of shoal", self.byte("out", source, code=2))


if __name__ == "__main__":
    unittest.main()
