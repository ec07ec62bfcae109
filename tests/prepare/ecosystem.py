#!/usr/bin/env python3
"""What others make of our shards, and we of their directories: Hugging Face datasets, polars, DuckDB.

Not part of CI: it needs `pip install datasets polars duckdb pyarrow` in an environment of its own.

    python tests/prepare/ecosystem.py build/release/shoal
"""
import pathlib
import subprocess
import sys
import tempfile

import datasets
import duckdb
import polars
import pyarrow

shoal = sys.argv[1]
documents = [f"document {n} with some words" for n in range(1001)]
with tempfile.TemporaryDirectory() as name:
    directory = pathlib.Path(name)
    halves = {"train": documents[:901], "test": documents[901:]}
    saved = datasets.DatasetDict({key: datasets.Dataset.from_dict({"text": half}) for key, half in halves.items()})
    saved.save_to_disk(directory / "saved", num_shards={"train": 3, "test": 1})
    subprocess.run([shoal, "prepare", "--input", directory / "saved/train", "--tokenizer", "byte", "--validation", "none",
                    "--output", directory / "tokens"], check=True, stdout=subprocess.DEVNULL)
    shard = directory / "tokens/train-00000.arrow"

    def texts(rows):
        return [bytes(ids[:-1]).decode() for ids in rows]

    assert texts(polars.read_ipc(shard)["input_ids"].to_list()) == documents[:901]
    again = datasets.load_dataset("arrow", data_files=str(shard), split="train", cache_dir=directory / "cache")
    assert texts(again["input_ids"]) == documents[:901]
    shard_table = pyarrow.ipc.open_file(shard).read_all()
    (count, tokens), = duckdb.sql("select count(*), sum(len(input_ids)) from shard_table").fetchall()
    assert (count, tokens) == (901, sum(len(text) + 1 for text in documents[:901]))
print(f"datasets {datasets.__version__}, polars {polars.__version__}, DuckDB {duckdb.__version__}: the same documents")
