#!/usr/bin/env python3
"""shoal prepare on a gigabyte: memory, speed beside the bare encoder, and the same bytes after kills.

    tools/make_mixed_text.sh mixed
    bench/prepare_gigabyte.py --tokenizer ../shared/data/gpt2 --text mixed/text --text ../shared/data/corpora --scratch /tmp/gigabyte

The corpus is JSONL made of the sentences of the texts, shuffled by a seeded generator, so that no two documents are equal;
their lengths are log-normal. The scratch directory needs five times its size and can be removed afterwards.

  memory   peak of the process, with 1 and with 2 threads
  speed    prepare with one thread on the first tenth, against the bare encoder on the same texts in one piece of memory
           (encode_rounds): rounds in turn, median of the ratios with quartiles. Prepare's time is that of the whole
           process: start, JSON, hashes, shards on disk, checksums. `fresh` is an encoder that sees the text for the
           first time, as prepare's does; `warm` one that remembers the pieces of this very text, which no corpus allows.
  kills    kill -9 at random moments of the run, the same command again, and in the end all files byte by byte

Ends with lines NAME VALUE.
"""
import argparse
import filecmp
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 2_000_000


def sentences(paths):
    files = [file for path in paths for file in (sorted(path.rglob("*.txt")) if path.is_dir() else [path])]
    found = set()
    for file in files:
        for line in file.read_bytes().decode(errors="ignore").splitlines():
            found.update(part + "." for part in line.split(". ") if len(part) > 20)
    return sorted(found)


def make_corpus(path, paths, size, seed=1):
    """Documents with a median of 2.5 kB; one in a thousand is longer than 75 kB."""
    generator = random.Random(seed)
    choices = sentences(paths)
    mean = sum(len(text.encode()) for text in choices[::97]) / len(choices[::97])
    written = 0
    with path.open("wb") as file:
        while written < size:
            length = min(generator.lognormvariate(7.8, 1.1), LONGEST)
            text = " ".join(generator.choices(choices, k=1 + int(length / mean)))
            written += file.write(json.dumps({"id": written, "text": text}, ensure_ascii=False).encode() + b"\n")
    return written


def head(corpus, part, texts, size):
    """The first documents as JSONL, and their texts alone."""
    read = 0
    with corpus.open("rb") as source, part.open("wb") as lines, texts.open("wb") as plain:
        for line in source:
            lines.write(line)
            plain.write(json.loads(line)["text"].encode())
            read += len(line)
            if read >= size:
                break
    return texts.stat().st_size


class Prepare:
    def __init__(self, options):
        self.command = [options.build / "shoal", "prepare", "--tokenizer", options.tokenizer]

    def start(self, source, output, threads):
        return subprocess.Popen([*self.command, "--input", source, "--output", output, "--threads", str(threads)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, source, output, threads):
        """Seconds, those that it computed, and the peak in bytes, of a run into a directory that is not there."""
        shutil.rmtree(output, ignore_errors=True)
        os.sync()  # what is still to be written is not this run's
        began = time.perf_counter()
        process = self.start(source, output, threads)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"shoal prepare ended with {process.returncode}")
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure_memory(prepare, corpus, scratch, results):
    size = corpus.stat().st_size
    for threads in (1, 2):
        seconds, computed, peak = prepare.run(corpus, scratch / "out", threads)
        print(f"{threads} threads: {size / seconds / 1e6:.0f} MB/s of JSONL, {size / computed / 1e6:.0f} MB per second of a core, "
              f"peak {peak / 1e6:.0f} MB")
        results[f"prepare.peak_megabytes_{threads}_threads"] = round(peak / 1e6)
        results[f"prepare.megabytes_per_second_{threads}_threads"] = round(size / seconds / 1e6, 1)


def measure_speed(prepare, options, corpus, scratch, results):
    part, texts = scratch / "part.jsonl", scratch / "texts.txt"
    size = head(corpus, part, texts, options.bytes // 10)
    bare = subprocess.Popen([options.build / "tests" / "data" / "encode_rounds", options.tokenizer, texts],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(2):  # the hash of its ids and its first time: it is warm
        bare.stdout.readline()
    ours, theirs = [], {"fresh": [], "warm": []}
    for _ in range(options.rounds):
        ours.append(prepare.run(part, scratch / "part", 1)[:2])
        for kind, times in theirs.items():
            bare.stdin.write(f"{kind}\n")
            bare.stdin.flush()
            times.append(tuple(map(float, bare.stdout.readline().split())))
    bare.stdin.close()
    bare.wait()
    for clock, name in enumerate(("elapsed", "processor")):  # others may have the processor meanwhile
        mine = [times[clock] for times in ours]
        print(f"prepare: {size / statistics.median(mine) / 1e6:.1f} MB per second ({name}) of text")
        for kind, all_times in theirs.items():
            seconds = [times[clock] for times in all_times]
            low, median, high = statistics.quantiles([t / o for t, o in zip(seconds, mine)], n=4, method="inclusive")
            print(f"{kind} encoder: {size / statistics.median(seconds) / 1e6:.1f} MB per second ({name}); prepare has "
                  f"{median:.3f} ({low:.3f} .. {high:.3f}) of its speed")
            results[f"prepare.share_of_{kind}_encoder_speed_{name}"] = round(median, 3)


def same_files(one, other):
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


def measure_kills(prepare, options, corpus, scratch, results):
    seconds = prepare.run(corpus, scratch / "undisturbed", 2)[0]
    generator = random.Random(2)
    moments = sorted(generator.uniform(0, seconds) for _ in range(options.kills))
    output, kills = scratch / "killed", 0
    shutil.rmtree(output, ignore_errors=True)
    while kills < options.kills:
        process = prepare.start(corpus, output, 2)
        try:
            process.wait(moments[kills] - (moments[kills - 1] if kills else 0))
            if process.returncode != 0:
                sys.exit(f"shoal prepare ended with {process.returncode} after {kills} kills")
            if not same_files(scratch / "undisturbed", output):
                sys.exit(f"other files after {kills} kills")
            shutil.rmtree(output)  # finished before the kill: once more from the beginning
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    process = prepare.start(corpus, output, 2)
    if process.wait() != 0:
        sys.exit(f"shoal prepare ended with {process.returncode} after the last kill")
    same = same_files(scratch / "undisturbed", output)
    print(f"{kills} kills in a run of {seconds:.1f} s: {'the same files' if same else 'OTHER FILES'}")
    results["prepare.same_after_kills"] = int(same)
    results["prepare.kills"] = kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", choices=["memory", "speed", "kills"])
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    corpus = options.scratch / f"corpus-{options.bytes}.jsonl"
    if not corpus.exists():
        unfinished = corpus.with_suffix(".unfinished")
        make_corpus(unfinished, options.text, options.bytes)
        unfinished.rename(corpus)
    prepare, results = Prepare(options), {"prepare.corpus_bytes": corpus.stat().st_size}
    if options.only in (None, "memory"):
        measure_memory(prepare, corpus, options.scratch, results)
    if options.only in (None, "speed"):
        measure_speed(prepare, options, corpus, options.scratch, results)
    if options.only in (None, "kills"):
        measure_kills(prepare, options, corpus, options.scratch, results)
    print("\n" + "\n".join(f"{name} {value}" for name, value in results.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
