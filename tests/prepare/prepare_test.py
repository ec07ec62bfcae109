#!/usr/bin/env python3
"""shoal prepare, against what Python and pyarrow make of the same files.

The byte tokenizer is the oracle for ids: every byte is its own id, and 256 ends a document.
"""
import array
import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
BINARY = pathlib.Path(os.environ["SHOAL_BINARY_DIR"])
DATA = pathlib.Path(os.environ.get("SHOAL_TEST_DATA", SOURCE.parent / "shared" / "data"))
sys.path.insert(0, str(SOURCE / ".deps" / "site"))
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

sys.path.insert(0, str(SOURCE / "tests" / "support"))
from shards import load_tests  # noqa: E402, F401

SHOAL = str(BINARY / "shoal")
END = 256


def as_rank(rank, ranks):
    """The environment of one rank, as torchrun sets it."""
    return {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost"}


def prepare(output, *words, code=0, ranks=None, before=(), env=None):
    command = [*before, SHOAL]
    if ranks:
        command += ["launch", "--ranks", str(ranks), "--"]
    command += ["prepare", "--output", str(output), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}\n{done.stdout}"
    return done.stderr


def tables(directory, split):
    manifest = json.loads((directory / "manifest.json").read_text())
    return [pa.ipc.open_file(directory / shard["file"]).read_all() for shard in manifest[split]["shards"]]


def documents(directory, split="train"):
    """The ids of each document; rows that continue one are joined to it."""
    found = []
    for table in tables(directory, split):
        table.validate(full=True)
        for ids, continues in zip(table["input_ids"].to_pylist(), table["continues"].to_pylist()):
            if continues:
                found[-1] += ids
            else:
                found.append(ids)
    return found


def texts(directory, split="train"):
    for ids in documents(directory, split):
        assert ids[-1] == END and END not in ids[:-1], ids[-3:]
        yield bytes(ids[:-1]).decode()


def digest_of(directory):
    """Every file's name and content."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}


def some_documents(count, seed):
    """Documents of many lengths in several scripts, some empty, some with what JSON must escape."""
    random.seed(seed)
    words = ["the", "Königsberg", "東京", "a\"b", "back\\slash", "tab\there", "\u2028", "é", "42", "🙂", "x" * 97]
    return [" ".join(random.choices(words, k=random.choice([0, 1, 2, 3, 7, 31, 211, 1009]))) for _ in range(count)]


class Prepare(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="prepare-"))
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, name):
        return self.directory / name

    def jsonl(self, name, docs, **extra):
        self.path(name).write_text("".join(json.dumps({"id": i, "text": doc, **extra}, ensure_ascii=i % 2 == 0) + "\n"
                                           for i, doc in enumerate(docs)))
        return self.path(name)

    def start(self, output, source, *words, env=None):
        """A process that is not waited for, and ends with the test."""
        process = subprocess.Popen([SHOAL, "prepare", "--input", source, "--tokenizer", "byte", "--output", self.path(output),
                                    *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def byte(self, output, source, *words, **more):
        return prepare(self.path(output), "--input", source, "--tokenizer", "byte", *words, **more)


class Formats(Prepare):
    def setUp(self):
        super().setUp()
        self.docs = some_documents(301, seed=1)
        self.kept = [doc for doc in self.docs if doc]

    def check(self, source, *words):
        self.byte("out", source, "--validation", "none", *words)
        self.assertEqual(list(texts(self.path("out"))), self.kept)

    def test_jsonl(self):
        self.check(self.jsonl("a.jsonl", self.docs))

    def test_jsonl_with_what_only_other_fields_hold(self):
        others = ["1", "123456789012345678901234567890", "-1e999", '"\\ud800"', '{"text": [12345678901234567890123]}']
        lines = []
        for number, doc in enumerate([None, *self.docs]):
            fields = [f'"other": {others[number % 5]}', f'"text": {json.dumps(doc, ensure_ascii=number % 3 == 0)}']
            lines.append("{" + ", ".join(fields[::number % 2 * 2 - 1]) + "}")
        self.assertEqual([json.loads(line)["text"] for line in lines[1:]], self.docs)
        self.path("a.jsonl").write_bytes("\n".join(lines).encode("utf-8-sig"))
        self.check(self.path("a.jsonl"))

    def test_jsonl_in_many_slices(self):
        for part_bytes in (1024, 1031, 4099, 100003):
            output = f"sliced-{part_bytes}"
            self.byte(output, self.jsonl("a.jsonl", self.docs), "--validation", "none", "--part-bytes", part_bytes)
            self.assertEqual(list(texts(self.path(output))), self.kept)

    def test_blank_lines_crlf_and_no_last_line_feed(self):
        lines = [json.dumps({"text": doc}) for doc in self.docs]
        self.path("a.jsonl").write_bytes("\r\n\n  \r\n".join(lines).encode())
        self.check(self.path("a.jsonl"))

    def test_gzip_also_in_several_members(self):
        plain = self.jsonl("a.jsonl", self.docs).read_bytes()
        half = len(plain) // 2
        self.path("a.jsonl.gz").write_bytes(gzip.compress(plain[:half]) + gzip.compress(plain[half:]))
        self.check(self.path("a.jsonl.gz"))

    def test_zstd(self):
        plain = self.jsonl("a.jsonl", self.docs).read_bytes()
        with pa.CompressedOutputStream(str(self.path("a.jsonl.zst")), "zstd") as stream:
            stream.write(plain)
        self.check(self.path("a.jsonl.zst"))

    def test_truncated_compression_is_an_error(self):
        plain = self.jsonl("a.jsonl", self.docs).read_bytes()
        self.path("a.jsonl.gz").write_bytes(gzip.compress(plain)[:-37])
        error = self.byte("out", self.path("a.jsonl.gz"), code=3)
        self.assertIn("a.jsonl.gz", error)

    def test_parquet_of_every_text_type(self):
        types = {"string": pa.string(), "large_string": pa.large_string(), "binary": pa.binary(),
                 "large_binary": pa.large_binary(), "string_view": pa.string_view()}
        for name, kind in types.items():
            docs = pa.array(self.docs, pa.string()).cast(kind)
            table = pa.table({"number": list(range(len(docs))), "body": docs})
            pq.write_table(table, self.path(f"{name}.parquet"), row_group_size=37)
            self.byte(name, self.path(f"{name}.parquet"), "--validation", "none", "--fields", "body")
            self.assertEqual(list(texts(self.path(name))), self.kept)

    def test_parquet_by_row_groups(self):
        table = pa.table({"text": self.docs})
        pq.write_table(table, self.path("a.parquet"), row_group_size=23)
        self.byte("out", self.path("a.parquet"), "--validation", "none", "--part-bytes", 1024)
        self.assertEqual(list(texts(self.path("out"))), self.kept)
        self.assertGreater(len(tables(self.path("out"), "train")), 5)

    def test_nulls_are_no_documents(self):
        pq.write_table(pa.table({"text": [None, "one", None, "two"]}), self.path("a.parquet"))
        self.byte("out", self.path("a.parquet"), "--validation", "none")
        self.assertEqual(list(texts(self.path("out"))), ["one", "two"])

    def test_datasets_directory(self):
        """As Hugging Face's save_to_disk leaves it: IPC streams, and files that are no data."""
        root = self.path("saved/train")
        root.mkdir(parents=True)
        third = len(self.docs) // 3
        shards = [self.docs[:third], self.docs[third:]]
        for number, docs in enumerate(shards):
            table = pa.table({"text": docs})
            with pa.ipc.new_stream(str(root / f"data-{number:05}-of-00002.arrow"), table.schema) as writer:
                writer.write_table(table, max_chunksize=29)
        (root / "state.json").write_text('{"_data_files": []}')
        (root / "dataset_info.json").write_text("{}")
        (root / "cache-1234.arrow").write_bytes(b"not data")
        (self.path("saved") / "dataset_dict.json").write_text('{"splits": ["train"]}')
        self.check(self.path("saved"))

    def test_ids_as_they_are(self):
        lists = [[ord(c) % 256 for c in doc] for doc in self.kept]
        for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64()), pa.list_(pa.uint16())):
            table = pa.table({"input_ids": pa.array(lists, kind)})
            name = str(kind).replace("<", "_").replace(">", "").replace(": ", "")
            with pa.ipc.new_file(str(self.path(f"{name}.arrow")), table.schema) as writer:
                writer.write_table(table, max_chunksize=31)
            self.byte(name, self.path(f"{name}.arrow"), "--fields", "input_ids", "--validation", "none")
            self.assertEqual([ids[:-1] for ids in documents(self.path(name))], lists)

    def test_ids_out_of_range(self):
        for bad in (-1, 257, 2**40):
            table = pa.table({"input_ids": pa.array([[1, 2], [3, bad]], pa.list_(pa.int64()))})
            pq.write_table(table, self.path(f"bad{bad}.parquet"))
            error = self.byte(f"out{bad}", self.path(f"bad{bad}.parquet"), "--fields", "input_ids", code=3)
            self.assertIn("below the vocabulary's 257", error)

    def test_own_shards_are_input_again(self):
        self.check(self.jsonl("a.jsonl", self.docs))
        self.byte("again", self.path("out/train-00000.arrow"), "--fields", "input_ids", "--validation", "none",
                  "--end-of-document", "none")
        self.assertEqual(documents(self.path("again")), documents(self.path("out")))

    def test_several_inputs_in_order(self):
        self.jsonl("2.jsonl", self.docs[:50])
        self.jsonl("10.jsonl", self.docs[50:60])
        self.path("last.txt").write_text("the end")
        prepare(self.path("out"), "--input", self.path("*.jsonl"), "--input", self.path("last.txt"),
                "--tokenizer", "byte", "--validation", "none")
        order = self.docs[50:60] + self.docs[:50] + ["the end"]
        self.assertEqual(list(texts(self.path("out"))), [doc for doc in order if doc])


class OwnShards(Prepare):
    """Token shards as input: the documents that they were written from."""

    def prepared(self, name="out"):
        """Documents with prompts, some longer than a block, and some that end where a block does."""
        block = 1 << 20
        sizes = [5, 0, 3 * block // 2 + 7, 1, 600_011, 3 * block, 2, block - 1, block, block - 2, 7]
        rows = [{"prompt": "why? " * (n % 4), "completion": chr(97 + n) * size} for n, size in enumerate(sizes)]
        self.path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.byte(name, self.path("a.jsonl"), "--fields", "prompt,completion", "--validation", "none")
        return self.path(name)

    def again(self, source, *words, fields="loss_mask,input_ids", **more):
        return self.byte("again", source, "--fields", fields, "--validation", "none", *words, **more)

    def test_come_back_with_their_masks(self):
        shard = self.prepared() / "train-00000.arrow"
        for words in ([], ["--end-of-document", "none"], ["--deduplicate"]):
            self.again(shard, "--part-bytes", "64MiB", *words)
            ours = pa.ipc.open_file(self.path("again/train-00000.arrow"))
            theirs = pa.ipc.open_file(shard)
            self.assertEqual(ours.num_record_batches, theirs.num_record_batches)
            self.assertTrue(ours.read_all().equals(theirs.read_all()), words)
            shutil.rmtree(self.path("again"))
        self.again(shard, "--part-bytes", "64MiB")
        self.assertEqual(digest_of(self.path("again"))[shard.name], digest_of(self.path("out"))[shard.name])

    def test_a_document_belongs_to_the_slice_it_begins_in(self):
        expected = documents(self.prepared())
        flags = [flag for table in tables(self.path("out"), "train") for row in table["loss_mask"].to_pylist() for flag in row]
        self.assertIn(False, flags)
        self.again(self.path("out/train-00000.arrow"), "--part-bytes", 300_007)
        self.assertGreater(len(tables(self.path("again"), "train")), 3)
        found = documents(self.path("again"))
        self.assertEqual([len(ids) for ids in found], [len(ids) for ids in expected])
        self.assertTrue(found == expected, "other ids")
        again = [flag for table in tables(self.path("again"), "train") for row in table["loss_mask"].to_pylist() for flag in row]
        self.assertTrue(again == flags, "other masks")

    def test_a_document_in_several_shards_stays_whole(self):
        text = " ".join(some_documents(4000, seed=3))[:1_000_003].encode()
        self.path("a.txt").write_bytes(text)
        self.byte("out", self.path("a.txt"), "--validation", "none", "--part-bytes", 300_007)
        self.assertGreater(len(tables(self.path("out"), "train")), 2)
        self.again(self.path("out/*.arrow"), fields="input_ids")
        found = [id for ids in documents(self.path("again")) for id in ids]
        self.assertTrue(found == [*text, END], f"{len(found)} ids, {found.count(END)} of them {END}")

    def test_what_is_refused(self):
        def refusal(path, fields="loss_mask,input_ids"):
            shutil.rmtree(self.path("again"), ignore_errors=True)
            return self.again(path, fields=fields, code=3)

        shard = self.prepared() / "train-00000.arrow"
        self.assertIn("with a loss mask: read it with --fields loss_mask,input_ids", refusal(shard, "input_ids"))
        self.path("letters.json").write_text(json.dumps({"shoal_tokenizer": "character", "symbols": [chr(n) for n in range(257)],
                                                         "added_tokens": []}))
        error = prepare(self.path("other"), "--input", shard, "--tokenizer", self.path("letters.json"), "--fields",
                        "loss_mask,input_ids", code=3)
        self.assertIn("another tokenizer", error)
        pq.write_table(pa.ipc.open_file(shard).read_all(), self.path("a.parquet"))
        self.assertIn("give the .arrow file itself", refusal(self.path("a.parquet")))
        table = pa.ipc.open_file(shard).read_all().slice(0, 1)
        for number, (name, values, why) in enumerate((("continues", [None], "must hold booleans alone"),
                                                      ("continues", [1], "must hold booleans alone"),
                                                      ("loss_mask", [[True] * 3], "6 ids in 'input_ids', but 3 booleans"),
                                                      ("loss_mask", [[True, None] * 3], "holds a null"),
                                                      ("loss_mask", [[1] * 6], "must hold lists of booleans"))):
            damaged = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
            path = self.path(f"damaged{number}.arrow")
            with pa.ipc.new_file(str(path), damaged.schema) as writer:
                writer.write_table(damaged)
            self.assertIn(why, refusal(path))
        damaged = table.drop_columns(["continues"])
        with pa.ipc.new_file(str(self.path("bare.arrow")), damaged.schema) as writer:
            writer.write_table(damaged)
        self.assertIn("has no column 'continues'", refusal(self.path("bare.arrow")))


class Tokens(Prepare):
    """Files of ids that other systems wrote. Their mark between documents is the byte tokenizer's own."""

    DOCUMENTS = [[5, 6, 7], [8], list(range(256)), [9, 9]]

    def write(self, name, code, ids, header=b""):
        self.path(name).write_bytes(header + array.array(code, ids).tobytes())
        return self.path(name)

    def nano_gpt(self, name="a.bin", docs=None):
        return self.write(name, "H", [id for doc in docs or self.DOCUMENTS for id in [*doc, END]])

    def llm_c(self, name, magic, version, code, ids):
        return self.write(name, code, ids, struct.pack("<256i", magic, version, len(ids), *[0] * 253))

    def megatron(self, name, sequences, borders):
        """Ids as int32. Documents are the sequences between borders."""
        lengths = [len(sequence) for sequence in sequences]
        offsets = [4 * sum(lengths[:at]) for at in range(len(lengths))]
        index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, len(lengths), len(borders))
        index += array.array("i", lengths).tobytes() + array.array("q", [*offsets, *borders]).tobytes()
        self.path(f"{name}.idx").write_bytes(index)
        return self.write(f"{name}.bin", "i", [id for sequence in sequences for id in sequence])

    def check(self, source, expected, *words):
        self.byte("out", source, "--validation", "none", *words)
        found = documents(self.path("out"))
        # Not assertEqual for all of it: unittest takes hours for the difference of a million ids.
        self.assertEqual([len(doc) for doc in found], [len(doc) for doc in expected])
        for one, other in zip(found, expected):
            self.assertTrue(one == other, f"{one[:9]} .. {one[-9:]} is not {other[:9]} .. {other[-9:]}")
        counts = json.loads((self.path("out") / "manifest.json").read_text())
        self.assertEqual(counts["input"]["documents"], len(expected))
        self.assertEqual(counts["train"]["documents"], len(expected))
        shutil.rmtree(self.path("out"))

    def marked(self, docs=None):
        return [[*doc, END] for doc in docs or self.DOCUMENTS]

    def test_nano_gpt(self):
        self.check(self.nano_gpt(), self.marked())

    def test_empty_documents_and_a_last_one_without_its_mark(self):
        ids = [END, END, 1, 2, END, END, 3]
        self.check(self.write("a.bin", "H", ids), [[1, 2, END], [3, END]])
        self.check(self.write("a.bin", "H", ids), [ids], "--end-of-document", "none")

    def test_llm_c(self):
        ids = [1, 2]  # goes on from the file before
        for doc in self.DOCUMENTS:
            ids += [END, *doc]
        for name, magic, version, code in (("gpt2.bin", 20240520, 1, "H"), ("llama3.bin", 20240801, 7, "I")):
            file = self.llm_c(name, magic, version, code, [*ids, END, END])
            self.check(file, self.marked([[1, 2], *self.DOCUMENTS]))
            self.check(file, [[*ids, END, END]], "--end-of-document", "none")

    def test_olmo(self):
        self.check(self.nano_gpt("a.npy"), self.marked())

    def test_megatron(self):
        sequences = [[1, 2], [3, END], [], [4], [END], [5, END, 6], [7, END, END]]
        file = self.megatron("a", sequences, [0, 2, 3, 4, 5, 6, 7])
        self.check(file, [[1, 2, 3, END], [4, END], [5, END, 6, END], [7, END, END]])
        self.check(file, [[1, 2, 3, END], [4], [END], [5, END, 6], [7, END, END]], "--end-of-document", "none")

    def test_a_pair_is_read_once(self):
        self.megatron("a", [[1], [2]], [0, 1, 2])
        expected = [[1, END], [2, END]]
        for source in ("a.bin", "a.idx", "*", ".", "a.*"):
            self.check(self.path(source), expected)
        for first, second in (("a.bin", "a.idx"), ("a.idx", "a.bin"), ("a.idx", "a.idx")):
            self.check(self.path(first), expected, "--input", self.path(second))
        self.path("a.bin").unlink()
        self.assertIn("only its index", self.byte("out", self.path("a.idx"), code=2))

    def test_documents_longer_than_a_piece(self):
        piece = 1 << 20
        for size in (piece - 1, piece, piece + 1, 2 * piece):
            docs = [[size % 251] * size, [1, 2, 3]]
            self.check(self.nano_gpt(docs=docs), self.marked(docs))
            self.check(self.llm_c("b.bin", 20240520, 1, "H", [id for doc in docs for id in [END, *doc]]), self.marked(docs))

    def test_ids_out_of_range(self):
        for name, ids in (("a.bin", [1, 257]), ("a.npy", [65535])):
            error = self.byte("out", self.write(name, "H", ids), code=3)
            self.assertIn(name, error)
            self.assertIn("257", error)
            shutil.rmtree(self.path("out"))
        self.megatron("b", [[1, -1]], [0, 1])
        self.assertIn("b.bin", self.byte("out", self.path("b.idx"), code=3))

    def test_split_by_hash_is_that_of_the_ids(self):
        random.seed(13)
        docs = [[random.randrange(256) for _ in range(40)] for _ in range(2001)]
        self.byte("bin", self.nano_gpt(docs=docs + docs[::-1]))
        table = pa.table({"input_ids": pa.array(docs, pa.list_(pa.uint16()))})
        pq.write_table(table, self.path("a.parquet"))
        self.byte("parquet", self.path("a.parquet"), "--fields", "input_ids")
        for split in ("train", "validation"):
            once = documents(self.path("parquet"), split)
            self.assertGreater(len(once), 40)
            self.assertTrue(documents(self.path("bin"), split) == once + once[::-1], f"other documents in {split}")

    def test_duplicates(self):
        docs = [[1, 2], [3], [1, 2], [3, 1], [3]]
        self.byte("out", self.nano_gpt(docs=docs), "--deduplicate", "--validation", "none")
        self.assertEqual(documents(self.path("out")), self.marked([[1, 2], [3], [3, 1]]))

    def test_damaged(self):
        self.path("odd.bin").write_bytes(b"abc")
        self.assertIn("odd.bin", self.byte("out", self.path("odd.bin"), code=3))
        self.assertIn("only plain text", self.byte("tail", self.nano_gpt(), "--validation", "tail:0.1", code=2))


class Texts(Prepare):
    def test_separator_at_any_slice(self):
        docs = [doc for doc in some_documents(97, seed=2)]
        self.path("a.txt").write_text("<|endoftext|>".join(docs))
        for part_bytes in (1024, 1033, 2048, 65537):
            output = f"out-{part_bytes}"
            self.byte(output, self.path("a.txt"), "--separator", "<|endoftext|>", "--validation", "none",
                      "--part-bytes", part_bytes)
            self.assertEqual(list(texts(self.path(output))), [doc for doc in docs if doc])

    def test_escaped_separator(self):
        self.path("a.txt").write_text("one\n\ntwo\nlines\n\nthree")
        self.byte("out", self.path("a.txt"), "--separator", "\\n\\n", "--validation", "none")
        self.assertEqual(list(texts(self.path("out"))), ["one", "two\nlines", "three"])

    def test_long_document_is_cut_into_rows_and_comes_back(self):
        text = " ".join(some_documents(4000, seed=3))[:3_000_017]
        self.path("a.txt").write_text(text)
        self.byte("out", self.path("a.txt"), "--validation", "none")
        self.assertEqual(list(texts(self.path("out"))), [self.path("a.txt").read_text()])
        rows = [len(ids) for ids in tables(self.path("out"), "train")[0]["input_ids"].to_pylist()]
        self.assertEqual(rows[:2], [1 << 20, 1 << 20])

    def test_whole_text_in_slices_has_the_ids_of_the_whole(self):
        corpora = DATA / "corpora"
        if not corpora.exists():
            self.skipTest(f"no corpora in {DATA}")
        for name, vocabulary in (("war_and_peace.txt", "gpt2/tokenizer.json"), ("botchan_en.txt", "cl100k_base.tiktoken"),
                                 ("ja_wagahaiwa_nekodearu.txt", "o200k_base.tiktoken"),
                                 ("pg1399_anna_karenina.cp1252.txt", "gpt2/tokenizer.json")):
            whole = subprocess.run([SHOAL, "tokenizer", "encode", "--tokenizer", DATA / vocabulary, corpora / name],
                                   capture_output=True, text=True, check=True).stdout.split()
            prepare(self.path(name), "--input", corpora / name, "--tokenizer", DATA / vocabulary, "--validation", "none",
                    "--end-of-document", "none", "--part-bytes", 100_003)
            sliced = [id for table in tables(self.path(name), "train") for ids in table["input_ids"].to_pylist()
                      for id in ids]
            whole = list(map(int, whole))
            first = next((at for at, (a, b) in enumerate(zip(sliced, whole)) if a != b), None)
            self.assertTrue(sliced == whole, f"{name}: {len(sliced)} and {len(whole)} ids, first difference at {first}")

    def test_tail_of_shakespeare(self):
        source = DATA / "corpora" / "tinyshakespeare.txt"
        if not source.exists():
            self.skipTest(f"no {source}")
        prepare(self.path("gpt2"), "--input", source, "--tokenizer", DATA / "gpt2", "--validation", "tail:0.1",
                "--end-of-document", "none")
        counts = json.loads((self.path("gpt2") / "manifest.json").read_text())
        self.assertEqual((counts["train"]["tokens"], counts["validation"]["tokens"]), (301_966, 36_059))
        subprocess.run([SHOAL, "tokenizer", "train", "--kind", "character", "--output", self.path("chars"), source],
                       check=True, capture_output=True)
        prepare(self.path("tokens"), "--input", source, "--tokenizer", self.path("chars"), "--validation", "tail:0.1")
        counts = json.loads((self.path("tokens") / "manifest.json").read_text())
        self.assertEqual((counts["train"]["tokens"], counts["validation"]["tokens"]), (1_003_854, 111_540))
        self.assertEqual(counts["vocab_size"], 65)

    def test_tail_does_not_cut_a_character(self):
        self.path("a.txt").write_text("é" * 501)
        self.byte("out", self.path("a.txt"), "--validation", "tail:0.333", "--end-of-document", "none")
        for split in ("train", "validation"):
            text = bytes(id for ids in documents(self.path("out"), split) for id in ids).decode()
            self.assertEqual(set(text), {"é"})


class SmallCorpus(Prepare):
    """tools/make_small_corpus.py, whose counts are those of a published job."""

    def test_counts(self):
        source = self.path("small.txt")
        subprocess.run([sys.executable, SOURCE / "tools" / "make_small_corpus.py", source], check=True)
        text = source.read_bytes()
        self.assertEqual((len(text), len(text.split()), len(set(text.split()))), (290_599, 52_600, 172))
        self.assertEqual(hashlib.sha256(text).hexdigest(),
                         "46ff54b998b254acb2fe54f9b80ba0f9db461f59b175087efa1388d495214139")
        subprocess.run([SHOAL, "tokenizer", "train", "--kind", "word", "--output", self.path("words"), source], check=True,
                       capture_output=True)
        prepare(self.path("out"), "--input", source, "--tokenizer", self.path("words"), "--validation", "tail:0.1")
        manifest = json.loads((self.path("out") / "manifest.json").read_text())
        self.assertEqual(manifest["vocab_size"], 172)
        self.assertEqual(manifest["train"]["tokens"] + manifest["validation"]["tokens"], 52_600)


class Choices(Prepare):
    def test_loss_mask_of_prompt_and_completion(self):
        rows = [{"completion": f" answer {n}", "prompt": "question? " * (n % 3)} for n in range(41)]
        self.path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.byte("out", self.path("a.jsonl"), "--fields", "prompt,completion", "--validation", "none")
        (table,) = tables(self.path("out"), "train")
        for row, ids, mask in zip(rows, table["input_ids"].to_pylist(), table["loss_mask"].to_pylist()):
            self.assertEqual(bytes(ids[:-1]).decode(), row["prompt"] + row["completion"])
            prompt = len(row["prompt"])
            self.assertEqual(mask, [False] * prompt + [True] * (len(ids) - prompt))

    def test_loss_mask_of_lists_of_ids(self):
        rows = [([1, 2, 3], [7, 8]), ([4], [9]), ([], [5, 6]), (None, [10]), ([11], []), ([12], None), ([1, 2], [3, 7, 8])]
        expected = [((prompt or []) + completion, [False] * len(prompt or []) + [True] * len(completion))
                    for prompt, completion in rows if completion]
        for kind in (pa.list_(pa.int32()), pa.large_list(pa.uint16())):
            columns = [pa.array([row[at] for row in rows], kind) for at in (0, 1)]
            pq.write_table(pa.table(columns, ["prompt", "completion"]), self.path("a.parquet"), row_group_size=3)
            output = self.path(f"out-{kind.value_type}")
            self.byte(output.name, self.path("a.parquet"), "--fields", "prompt,completion", "--validation", "none",
                      "--deduplicate")  # the first and the last differ in their masks alone
            (table,) = tables(output, "train")
            found = list(zip(table["input_ids"].to_pylist(), table["loss_mask"].to_pylist()))
            self.assertEqual(found, [([*ids, END], [*mask, True]) for ids, mask in expected])

    def test_loss_mask_as_lists_of_booleans(self):
        rows = [([7, 8, 9], [True, False, True]), ([], []), ([1], [False]), ([2, 3], [True, True])]
        pq.write_table(pa.table([pa.array([row[at] for row in rows]) for at in (0, 1)], ["ids", "mask"]), self.path("a.parquet"))
        self.byte("out", self.path("a.parquet"), "--fields", "mask,ids", "--validation", "none")
        (table,) = tables(self.path("out"), "train")
        found = list(zip(table["input_ids"].to_pylist(), table["loss_mask"].to_pylist()))
        self.assertEqual(found, [([*ids, END], [*mask, True]) for ids, mask in rows if ids])

    def test_texts_beside_lists_of_ids(self):
        pq.write_table(pa.table({"ids": [[1], [2]], "words": ["a", "b"]}), self.path("a.parquet"))
        for fields, why in (("words,ids", "'words' is string, but must hold lists of ids, as 'ids' does"),
                            ("ids,words", "'ids' is list<element: int64>, but must hold texts, as 'words' does")):
            self.assertIn(why, self.byte("out", self.path("a.parquet"), "--fields", fields, code=3))
            shutil.rmtree(self.path("out"))

    def test_split_by_hash_keeps_copies_together_and_the_share(self):
        docs = [f"document {n} of this corpus" for n in range(4001)]
        self.byte("out", self.jsonl("a.jsonl", docs + docs[::-1]))
        train, validation = (list(texts(self.path("out"), split)) for split in ("train", "validation"))
        self.assertEqual(sorted(train + validation), sorted(docs + docs))
        self.assertFalse(set(train) & set(validation))
        # Binomial(4001, 0.05): 200 with a standard deviation of 13.8; five of them.
        self.assertLess(abs(len(set(validation)) - 200), 69)

    def test_duplicates(self):
        random.seed(5)
        docs = [f"document {random.randrange(700)}" for _ in range(3001)]
        source = self.jsonl("a.jsonl", docs)
        first = list(dict.fromkeys(docs))
        self.byte("out", source, "--deduplicate", "--validation", "none", "--part-bytes", 4099)
        self.assertEqual(list(texts(self.path("out"))), first)
        counts = json.loads((self.path("out") / "manifest.json").read_text())["input"]
        self.assertEqual((counts["documents"], counts["duplicates"]), (3001, 3001 - len(first)))
        self.byte("ranks", source, "--deduplicate", "--validation", "none", "--part-bytes", 4099, ranks=3)
        expected = digest_of(self.path("out"))
        self.assertEqual(digest_of(self.path("ranks")), expected)
        self.path("out/part-00002.json").unlink()  # when all hashes have been removed
        self.byte("out", source, "--deduplicate", "--validation", "none", "--part-bytes", 4099)
        self.assertEqual(digest_of(self.path("out")), expected)

    def test_a_part_is_done_again_on_several_ranks(self):
        random.seed(5)
        source = self.jsonl("a.jsonl", [f"document {random.randrange(700)}" for _ in range(3001)])
        words = ("--deduplicate", "--validation", "none", "--part-bytes", 20011)
        self.byte("out", source, *words)
        expected = digest_of(self.path("out"))
        for first in (0, 1):  # rank 1 has a part to do, rank 0 has none
            self.path("out/part-00003.json").unlink()
            ranks = {rank: self.start("out", source, *words, env=as_rank(rank, 2)) for rank in (first, 1 - first)}
            self.assertEqual({rank: process.wait(120) for rank, process in ranks.items()}, {0: 0, 1: 0})
            self.assertEqual(digest_of(self.path("out")), expected)

    def test_no_end_token_where_the_tokenizer_has_none(self):
        self.byte("out", self.jsonl("a.jsonl", ["ab", "c"]), "--end-of-document", "none", "--validation", "none")
        self.assertEqual(documents(self.path("out")), [[97, 98], [99]])

    def test_a_warning_where_nothing_stands_between_documents(self):
        self.path("letters.json").write_text(json.dumps({"shoal_tokenizer": "character", "symbols": ["a", "b", "c"]}))
        self.path("one.jsonl").write_text('{"text": "abc"}')
        words = ["--tokenizer", self.path("letters.json"), "--validation", "none"]
        two = self.jsonl("two.jsonl", ["ab", "c"])
        error = prepare(self.path("two"), "--input", two, *words)
        self.assertIn("no <|endoftext|>, <|end_of_text|>, </s>, <eos>, so nothing stands between 2 documents", error)
        self.assertEqual(documents(self.path("two")), [[0, 1], [2]])
        self.assertNotIn("stands between", prepare(self.path("one"), "--input", self.path("one.jsonl"), *words))
        self.assertNotIn("stands between", prepare(self.path("none"), "--input", two, *words, "--end-of-document", "none"))

    def test_metadata_and_modes(self):
        self.byte("out", self.jsonl("a.jsonl", ["ab", "c"]), "--validation", "none")
        metadata = pa.ipc.open_file(self.path("out/train-00000.arrow")).schema.metadata
        manifest = json.loads(self.path("out/manifest.json").read_text())
        self.assertEqual(metadata[b"shoal.tokenizer"].decode(), manifest["tokenizer"])
        self.assertEqual(metadata[b"shoal.end_of_document"], b"256")
        for path in self.path("out").iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o640, path)


class Sameness(Prepare):
    """Threads, ranks, kills: the same bytes."""

    def setUp(self):
        super().setUp()
        self.source = self.jsonl("a.jsonl", some_documents(20_011 if "SHOAL_NIGHTLY" in os.environ else 6_007, seed=7))
        self.words = ["--part-bytes", 300_007]
        self.byte("out", self.source, *self.words, "--threads", 1)
        self.expected = digest_of(self.path("out"))

    def test_threads(self):
        for threads in (2, 3, 7):
            self.byte(f"t{threads}", self.source, *self.words, "--threads", threads)
            self.assertEqual(digest_of(self.path(f"t{threads}")), self.expected)

    def test_ranks(self):
        for ranks in (2, 3):
            self.byte(f"r{ranks}", self.source, *self.words, ranks=ranks)
            self.assertEqual(digest_of(self.path(f"r{ranks}")), self.expected)

    def test_killed_and_resumed(self):
        random.seed(11)
        command = [SHOAL, "prepare", "--input", self.source, "--tokenizer", "byte", "--output", self.path("killed"),
                   "--threads", "2", *map(str, self.words)]
        kills = 0
        while kills < 12:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(random.uniform(0.005, 0.12))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
            if process.wait() == 0:
                self.assertEqual(digest_of(self.path("killed")), self.expected)
                shutil.rmtree(self.path("killed"))  # and once more
        self.byte("killed", self.source, *self.words)
        self.assertEqual(digest_of(self.path("killed")), self.expected)

    def stopped(self, output, env=None):
        """A process that stands still while it writes a shard."""
        process = self.start(output, self.source, *self.words, "--threads", 1, env=env)
        while True:
            self.assertIsNone(process.poll(), "it ended before it could be stopped")
            if not self.shards_under_way(output):
                continue
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if self.shards_under_way(output):
                return process
            process.send_signal(signal.SIGCONT)

    def shards_under_way(self, output):
        names = os.listdir(self.path(output)) if self.path(output).exists() else []
        return [name for name in names if name.startswith("train-") and not name.endswith(".arrow")]

    def test_the_same_rank_twice_is_refused(self):
        process = self.stopped("twice")
        error = self.byte("twice", self.source, *self.words, code=2)
        self.assertIn("another process prepares", error)
        self.assertIn("as rank 0 of 1: wait for its end", error)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(120), 0)
        self.assertEqual(digest_of(self.path("twice")), self.expected)

    def test_other_ranks_go_on_and_other_numbers_of_ranks_are_refused(self):
        process = self.stopped("ranks", env=as_rank(1, 3))
        for rank in (0, 2):
            self.byte("ranks", self.source, *self.words, env=as_rank(rank, 3))
        for rank, ranks, why in ((1, 3, "as rank 1 of 3"), (0, 1, "with another number of ranks than 1"),
                                 (1, 2, "another number of ranks than 2"), (4, 5, "another number of ranks than 5")):
            self.assertIn(why, self.byte("ranks", self.source, *self.words, code=2, env=as_rank(rank, ranks)))
        process.kill()
        self.byte("ranks", self.source, *self.words, env=as_rank(1, 3))
        self.assertEqual(digest_of(self.path("ranks")), self.expected)

    def test_without_the_lock_a_process_may_fail_but_no_file_is_wrong(self):
        process = self.stopped("unlocked")
        self.path("unlocked/preparation.lock").unlink(missing_ok=True)
        self.byte("unlocked", self.source, *self.words)
        self.assertEqual(digest_of(self.path("unlocked")), self.expected)
        process.send_signal(signal.SIGCONT)
        self.assertIn(process.wait(120), (0, 3))
        self.assertEqual(digest_of(self.path("unlocked")), self.expected)

    def test_the_same_command_twice_at_once(self):
        for _ in range(3):
            processes = [self.start("both", self.source, *self.words) for _ in range(2)]
            codes = sorted(process.wait(120) for process in processes)
            self.assertIn(codes, ([0, 0], [0, 2]))
            self.assertEqual(digest_of(self.path("both")), self.expected)
            shutil.rmtree(self.path("both"))

    def test_a_damaged_shard_is_made_again(self):
        shard = self.path("out/train-00001.arrow")
        damaged = bytearray(shard.read_bytes())
        damaged[len(damaged) // 2] ^= 4
        shard.write_bytes(damaged)
        self.path("out/part-00001.json").unlink()  # as the loader's message says
        self.byte("out", self.source, *self.words)
        self.assertEqual(digest_of(self.path("out")), self.expected)

    def test_finished_parts_are_not_done_again(self):
        before = {path.name: path.stat().st_mtime_ns for path in self.path("out").iterdir()}
        self.path("out/part-00001.json").unlink()
        self.byte("out", self.source, *self.words)
        self.assertEqual(digest_of(self.path("out")), self.expected)
        again = {path.name for path in self.path("out").iterdir() if path.stat().st_mtime_ns != before[path.name]}
        self.assertEqual(again, {"part-00001.json", "train-00001.arrow", "validation-00001.arrow", "manifest.json"})


class Errors(Prepare):
    def test_other_options_in_the_same_directory(self):
        source = self.jsonl("a.jsonl", ["one", "two"])
        self.byte("out", source, "--validation", "none")
        error = self.byte("out", source, "--validation", "none", "--deduplicate", code=2)
        self.assertIn("other options", error)

    def test_bad_lines_are_named(self):
        good = json.dumps({"text": "a"}) + "\n"
        for bad, why in (("{\"text\": \"a\"", "no JSON object"), ("[1]", "no JSON object"), ("{\"txt\": \"a\"}", "no field 'text'"),
                         ("{\"text\": 5}", "no text in 'text'"), ("{\"text\": \"a\"} {}", "no JSON object"),
                         ("{\"text\": \"\\ud800\"}", "no JSON object"), ("{\"text\": \"a\x00\"}", "no JSON object")):
            self.path("a.jsonl").write_text(good * 3 + bad + "\n" + good)
            shutil.rmtree(self.path("out"), ignore_errors=True)
            error = self.byte("out", self.path("a.jsonl"), code=3)
            self.assertIn(f"a.jsonl: the line at byte {3 * len(good)} ", error)
            self.assertIn(why, error)

    def test_usage(self):
        source = self.jsonl("a.jsonl", ["one"])
        self.path("a.pdf").write_text("x")
        for words, why in ((["--validation", "hash:1.5"], "between 0 and 1"), (["--validation", "half"], "hash:F"),
                           (["--fields", "a,b,c"], "prompt,completion"), (["--fields", ""], "one name"),
                           (["--part-bytes", "12"], "1 KiB"), (["--part-bytes", "1025GiB"], "to 1 TiB"),
                           (["--validation", "tail:0.1"], "only plain text"),
                           (["--end-of-document", "<eot>"], "no added token"),
                           (["--pattern", "gpt3"], "must be gpt2, cl100k or o200k")):
            self.assertIn(why, self.byte("out", source, *words, code=2))
        self.assertIn("no such file", self.byte("out", self.path("nothing*.txt"), code=2))
        self.assertIn("does not tell what it is", self.byte("out", self.path("a.pdf"), code=2))
        self.assertIn("no such file", self.byte("out", self.path("gone.txt"), code=2))

    def test_output_within_the_input(self):
        self.path("in/tokens").mkdir(parents=True)
        self.path("in-tokens").mkdir()
        self.path("link").symlink_to("in")
        self.jsonl("in/a.jsonl", ["one", "two"])
        self.path("in/a.json").write_bytes(self.path("in/a.jsonl").read_bytes())
        self.path("in/a.txt").write_text("three")
        for source, output in (("in", "in/tokens"), ("in/*", "in/tokens"), ("in", "link/tokens"), ("link", "in/tokens/new"),
                               ("in-tokens/../in", "in/tokens"), ("in", "in-tokens")):
            for _ in range(2):
                self.byte(output, self.path(source), "--validation", "none")
                self.assertEqual(json.loads(self.path(f"{output}/manifest.json").read_text())["input"]["documents"], 5)
            shutil.rmtree(self.path(output))
        for source, output in (("in", "in"), ("in/*.json", "in"), ("i?/a.*", "link")):
            error = self.byte(output, self.path(source), code=2)
            self.assertIn("would be input when the command is given again", error)
        for source, output in (("in/a.jsonl", "in"), ("in/*.txt", "in/tokens")):
            for _ in range(2):
                self.byte(output, self.path(source), "--validation", "none")

    def test_missing_column_names_those_there(self):
        pq.write_table(pa.table({"body": ["x"], "url": ["y"]}), self.path("a.parquet"))
        self.assertIn("it has body, url", self.byte("out", self.path("a.parquet"), code=3))

    def test_damaged_tables(self):
        pq.write_table(pa.table({"text": some_documents(100, seed=9)}), self.path("a.parquet"))
        whole = self.path("a.parquet").read_bytes()
        for name, damaged in (("cut", whole[:-100]), ("empty", b"PAR1"), ("mixed", whole[:50] + b"\xff" * 200 + whole[250:])):
            self.path(f"{name}.parquet").write_bytes(damaged)
            self.assertIn(f"{name}.parquet", self.byte(f"out-{name}", self.path(f"{name}.parquet"), code=3))

    def test_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small disk needs root")
        source = self.jsonl("a.jsonl", some_documents(20_011 if "SHOAL_NIGHTLY" in os.environ else 6_007, seed=7))
        self.path("disk").mkdir()
        script = f"mount -t tmpfs -o size=1M none {self.path('disk')} && exec \"$@\""
        error = prepare(self.path("disk/out"), "--input", source, "--tokenizer", "byte", code=3,
                        before=["unshare", "-m", "bash", "-c", script, "bash"])
        self.assertIn("No space left on device", error)


if __name__ == "__main__":
    unittest.main()
