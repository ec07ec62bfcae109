#!/usr/bin/env python3
"""What is said of a rank that hangs or is slow, while its job trains: a thread in an endless loop is found by its own rank, with the
place where it is, and by its peers; a rank that is stopped is missed long before the deadline of a call; a slow one is named; a job
that was suspended as a whole, or whose clock is set, goes on.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/watch_test.py
"""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time

from threads import hang, hang_in
from training_runs import NIGHTLY, PATIENCE, Run, end_of, ranks_of, share_of, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
# A stuck rank reports itself a tenth of this before the calls of its peers end: 2 s, in which a busy host schedules each of them.
HANG_DEADLINE = 20  # seconds
COMMON = ["train.eval_every=0", "train.batch=4", "train.micro_batch=2", "train.save_every=0", "train.threads=1", "train.steps=1000000",
          "model.layers=3", "model.width=48", "model.heads=3", "model.context=61"]


def started(scratch, name, *sets, ranks):
    run = Run(scratch, name, *COMMON, *sets, ranks=ranks, launch=("--grace", "2"))
    process = run.start()
    assert run.reaches(3, process), f"{name} ended: {process.communicate()[1]}"
    return run, process


def hangs(scratch, words):
    """The step thread of a rank gets into an endless loop."""
    for name, layout, ranks in (("tp", ["parallel.tp=2", "parallel.dp_replicate=1"], 2), ("pp", ["parallel.pp=3"], 3)):
        run, process = started(scratch, f"hang-{name}", *words, *layout, f"comm.deadline={HANG_DEADLINE}s", ranks=ranks)
        stuck = ranks - 1
        pid = ranks_of(process)[stuck]
        hang(pid, PATIENCE)
        began = time.monotonic()
        said = end_of(process, 71)
        took = time.monotonic() - began
        assert re.search(rf"rank {stuck} on \S+ has made no progress for \d+s in step \d+, (\S+.* \(line \d+ of the program\)|between operations)", said), said
        # Kernels in assembly cannot be unwound: there the stack ends.
        assert re.search(rf"thread step runs:\n.*\[{stuck}\]   .*libtorch_cpu", said), said
        assert re.search(rf"launch: rank {stuck} \(pid {pid}\) ended with exit code 71 in step \d+", said), said
        print(f"{name}: an endless loop in rank {stuck} was found with its stack; all over after {took:.1f} s with a deadline of {HANG_DEADLINE} s", flush=True)


def hangs_between_operations(scratch, words):
    """The step thread of a rank gets into an endless loop outside of every operation of the step program."""
    run, process = started(scratch, "hang-between", *words, f"comm.deadline={HANG_DEADLINE}s", ranks=2)
    pid = ranks_of(process)[1]
    hang_in(pid, "shoal::train::Stragglers::begin_step()", PATIENCE)
    said = end_of(process, 71)
    assert re.search(r"rank 1 on \S+ has made no progress for \d+s in step \d+, between operations", said), said
    assert "Stragglers::begin_step" in said, said
    assert re.search(rf"launch: rank 1 \(pid {pid}\) ended with exit code 71 in step \d+", said), said
    print("between operations: an endless loop in rank 1 was found with its stack", flush=True)


def falls_silent(scratch, words):
    """A rank is stopped, and the deadline of calls is far away."""
    run, process = started(scratch, "silent", *words, "comm.deadline=60s", ranks=3)
    os.kill(ranks_of(process)[2], signal.SIGSTOP)
    began = time.monotonic()
    said = end_of(process, 75)
    took = time.monotonic() - began
    assert re.search(r"rank 2 does not answer for \S+, last heard of on \S+, (in step \d+|before the first step)", said), said
    assert re.search(r"launch: rank \d .*rank 2 \(suspended\), still running", said), said
    if NIGHTLY:  # 5 s are silence
        assert took / 60 < 0.5, f"{took:.1f} s with a deadline of 60 s"
    print(f"silent: a stopped rank ended the job after {took:.1f} s with a deadline of 60 s", flush=True)


def is_slow(scratch, words):
    """A rank that gets half of the time."""
    run, process = started(scratch, "slow", *words, ranks=2)
    pid = ranks_of(process)[1]
    ends = threading.Event()

    def slow_down():
        while not ends.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.02)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)

    thread = threading.Thread(target=slow_down)
    thread.start()
    began = time.monotonic()
    try:
        until = began + PATIENCE
        texts = run.directory / "texts.jsonl"
        while True:
            rows = [json.loads(line) for line in texts.read_text().splitlines()] if texts.exists() else []
            named = [row["text"] for row in rows if row["tag"] == "straggler"]
            if any(text.startswith("rank 1 on ") for text in named):
                break
            assert time.monotonic() < until and process.poll() is None, f"nobody was called slow, but: {named}"
            time.sleep(0.02)
        took = time.monotonic() - began
    finally:
        ends.set()
        thread.join()
        process.send_signal(signal.SIGTERM)
    end_of(process, 75)
    print(f"slow: named after {took:.1f} s: {named[-1]}", flush=True)


def is_suspended(scratch, words):
    """All ranks are stopped for longer than the silence after which one is lost, and go on."""
    run, process = started(scratch, "suspended", *words, "comm.deadline=60s", ranks=2)
    ranks = ranks_of(process).values()
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(8)  # the fault itself
    before = run.last_step()
    for pid in ranks:
        os.kill(pid, signal.SIGCONT)
    assert run.reaches(before + 20, process), f"it ended: {process.communicate()[1]}"
    process.send_signal(signal.SIGTERM)
    said = end_of(process, 75)
    assert "does not answer" not in said, said
    print("suspended: a job that stood still for 8 s, with a silence of 5 s, went on", flush=True)


def clock_is_set(scratch, words):
    """The clock of all ranks is set a day ahead, and then two days back."""
    offset = scratch / "offset"
    offset.write_text("+0")
    environment = dict(os.environ, LD_PRELOAD="/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", FAKETIME_NO_CACHE="1",
                       FAKETIME_TIMESTAMP_FILE=str(offset), FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
    run = Run(scratch, "clock", *COMMON, *words, "comm.deadline=60s", ranks=2)
    process = run.start(env=environment)
    assert run.reaches(3, process), f"it ended: {process.communicate()[1]}"
    for hours in ("+24h", "-24h"):
        offset.write_text(hours)
        assert run.reaches(run.last_step() + 100, process), f"it ended: {process.communicate()[1]}"
    process.send_signal(signal.SIGTERM)
    end_of(process, 75)
    print("clock: set a day ahead and two days back, training went on", flush=True)


def main():
    with tempfile.TemporaryDirectory() as made:
        scratch = pathlib.Path(made)
        shoal("prepare", "--input", SOURCE / "examples/train_shakespeare/shakespeare.txt", "--tokenizer", "byte", "--output", scratch / "tokens")
        words = [f"data.sources=[{scratch / 'tokens'}]"]
        cases = [hangs, hangs_between_operations, falls_silent, is_slow, is_suspended, clock_is_set]
        for case in [case for case in cases if case.__name__ in sys.argv[1:]] or share_of(cases):
            case(scratch, words)


main()
