#!/usr/bin/env python3
"""Our safetensors files against the reference library's, both ways: what it writes we read and write again byte for byte, what we
write it reads; what it refuses we refuse. Sharded directories against huggingface_hub's plan."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
COPY = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]) / "tests" / "state" / "safetensors_copy"
sys.path.insert(0, str(SOURCE / ".deps" / "site"))

try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}; tools/deps.sh check brings it")
    sys.exit(77)

TYPES = [numpy.bool_, numpy.uint8, numpy.int8, numpy.int16, numpy.uint16, numpy.float16, numpy.int32, numpy.uint32, numpy.float32,
         numpy.complex64, numpy.float64, numpy.int64, numpy.uint64]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")


def copy(source, target, *more):
    """Whether ours took it, and what it said."""
    done = subprocess.run([COPY, source, target, *more], capture_output=True, text=True)
    check(done.returncode in (0, 3), f"{source}: exit code {done.returncode}: {done.stderr}")
    return done.returncode == 0, done.stderr.strip()


def some_tensors(chooser):
    names = ["model.layers.{}.w", "é{}", "東京 {}", "a\"b\\{}", "line\n{}", "\x01{}", "{}", "model.norm{}", "\u2028{}", "🙂{}"]
    tensors = {}
    for i in range(chooser.choice([0, 1, 2, 7, 31])):
        shape = [chooser.choice([0, 1, 1, 2, 3, 5, 7, 13]) for _ in range(chooser.choice([0, 1, 1, 2, 2, 3, 5]))]
        bits = numpy.frombuffer(chooser.randbytes(8 * int(numpy.prod(shape, dtype=numpy.int64))), dtype=numpy.uint8)
        kind = chooser.choice(TYPES)
        size = int(numpy.prod(shape, dtype=numpy.int64)) * numpy.dtype(kind).itemsize
        data = bits[:size] % 2 if kind is numpy.bool_ else bits[:size]
        tensors[chooser.choice(names).format(i)] = numpy.frombuffer(data.tobytes(), dtype=kind).reshape(shape)
    return tensors


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        ours[k].dtype == theirs[k].dtype and ours[k].shape == theirs[k].shape and ours[k].tobytes() == theirs[k].tobytes() for k in theirs)


def check_both_ways(scratch, rounds):
    for seed in range(rounds):
        chooser = random.Random(seed)
        tensors = some_tensors(chooser)
        # The library's order of several keys is that of a hash table: one key, or none.
        metadata = chooser.choice([None, {"format": "pt"}, {"k\n\"": "é\x02"}])
        theirs, ours = scratch / "theirs", scratch / "ours"
        safetensors.numpy.save_file(tensors, theirs, metadata)
        taken, why = copy(theirs, ours)
        check(taken, f"seed {seed}: {why}")
        if taken:
            check(ours.read_bytes() == theirs.read_bytes(), f"seed {seed}: other bytes than the library's")
            check(same(safetensors.numpy.load_file(ours), tensors), f"seed {seed}: the library reads other tensors")
    print(f"both ways: {rounds} files")


def check_other_types(scratch):
    """bf16 and f8, which numpy does not have."""
    for name, size in (("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("F8_E8M0", 1), ("F8_E4M3FNUZ", 1), ("F8_E5M2FNUZ", 1)):
        header = json.dumps({"x": {"dtype": name, "shape": [3, 5], "data_offsets": [0, 15 * size]}}).encode()
        (scratch / "theirs").write_bytes(struct.pack("<Q", len(header)) + header + bytes(range(15 * size)))
        taken, why = copy(scratch / "theirs", scratch / "ours")
        check(taken, f"{name}: {why}")
        (entry,) = safetensors.deserialize((scratch / "ours").read_bytes())
        check(entry[1]["dtype"] == name and entry[1]["shape"] == [3, 5] and bytes(entry[1]["data"]) == bytes(range(15 * size)), name)
    print("other types: bf16, f8")


def check_refusals(scratch, rounds):
    """One byte changed: whatever the library refuses, we refuse; what we take, it reads the same. We may refuse more."""
    whole = safetensors.numpy.save({"a": numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "b": numpy.zeros((), numpy.int64),
                                    "c": numpy.zeros((0, 3), numpy.uint8)}, {"format": "pt"})
    chooser = random.Random(1)
    refused = stricter = 0
    for _ in range(rounds):
        damaged = bytearray(whole)
        at = chooser.randrange(len(whole) - 24)  # the data may hold anything
        damaged[at] = chooser.choice([chooser.randrange(256), ord(chooser.choice("0123456789[]{},:\"abc -.e"))])
        damaged = bytes(damaged[:chooser.choice([len(damaged)] * 9 + [at])])
        (scratch / "damaged").write_bytes(damaged)
        taken, why = copy(scratch / "damaged", scratch / "ours")
        try:
            theirs = safetensors.numpy.load(damaged)
        except Exception:  # noqa: BLE001: whatever it throws, it has refused
            theirs = None
        if theirs is None:
            refused += 1
            check(not taken or "F8" in str(damaged), f"taken, but the library refuses {damaged[8:]!r}")
        elif taken:
            check(same(safetensors.numpy.load_file(scratch / "ours"), theirs), f"read otherwise than the library: {damaged!r}")
        else:
            stricter += 1
    print(f"one byte changed: {rounds} files, the library refuses {refused}, we {stricter} more")


def check_shards(scratch):
    try:
        from huggingface_hub import split_state_dict_into_shards_factory
    except ImportError as error:
        print(f"sharded directories: skipped: {error}; tools/deps.sh check brings it")
        return
    count = 0
    for seed in range(20):
        chooser = random.Random(seed)
        tensors = {f"t{i:03}": numpy.full(chooser.randrange(1, 40), i, numpy.int16) for i in range(chooser.choice([1, 2, 7, 41]))}
        limit = chooser.choice([10, 50, 79, 200, 10_000])
        safetensors.numpy.save_file(tensors, scratch / "theirs", {"format": "pt"})
        directory = scratch / f"sharded-{seed}"
        taken, why = copy(scratch / "theirs", directory, str(limit))
        check(taken, f"shards of seed {seed}: {why}")
        plan = split_state_dict_into_shards_factory(
            tensors, get_storage_size=lambda t: t.nbytes, get_storage_id=lambda t: None,
            filename_pattern="model{suffix}.safetensors", max_shard_size=limit)
        files = sorted(path.name for path in directory.glob("*.safetensors"))
        check(files == sorted(plan.filename_to_tensors), f"seed {seed}: files {files}")
        for name, expected in plan.filename_to_tensors.items():
            part = safetensors.numpy.load_file(directory / name)
            check(same(part, {key: tensors[key] for key in expected}), f"seed {seed}: {name}")
        if plan.is_sharded:
            index = {"metadata": {"total_size": plan.metadata["total_size"]}, "weight_map": plan.tensor_to_filename}
            text = json.dumps(index, indent=2, sort_keys=True) + "\n"  # as transformers writes it
            check((directory / "model.safetensors.index.json").read_text() == text, f"seed {seed}: the index")
        taken, why = copy(directory, scratch / "joined")
        check(taken and (scratch / "joined").read_bytes() == (scratch / "theirs").read_bytes(), f"seed {seed}: joined: {why}")
        count += len(files)
    print(f"sharded directories: 20 with {count} files")


def main():
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        check_both_ways(scratch, 200)
        check_other_types(scratch)
        check_refusals(scratch, 1000)
        check_shards(scratch)
    print(f"safetensors {safetensors.__version__}: " + ("all equal" if not failures else f"{len(failures)} differences"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
