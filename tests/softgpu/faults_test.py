#!/usr/bin/env python3
"""Faults on fake GPUs: a peer that stops or dies while calls wait on streams, a kill and a resume on another layout, memory that is not there.

    faults_test.py [--stops N]       # stop a rank N times, and kill one N times; default: once, in the nightly run 3 times
"""
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import unittest

from fake_gpus import PATIENCE, SHOAL, complaints, on_gpus, run
from training_runs import NIGHTLY, SEED, Run, documents, kill, ranks_of

MODEL = ["model.layers=2", "model.width=48", "model.heads=3", "model.context=61", "train.batch=7", "train.eval_every=0", "train.log_every=3"]
DEADLINE = 4  # seconds
STOPS = 3 if NIGHTLY else 1


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.scratch = pathlib.Path(cls.directory.name)
        (cls.scratch / "text.txt").write_text(documents(seed=7))
        run([SHOAL, "prepare", "--input", cls.scratch / "text.txt", "--separator", r"\n\n", "--tokenizer", "byte", "--output",
             cls.scratch / "tokens"])
        os.environ["OMP_NUM_THREADS"] = "1"

    def run_of(self, name, *sets, ranks=1, gpus=()):
        return Run(self.scratch, name, *MODEL, f"data.sources=[{self.scratch}/tokens]", *sets, ranks=ranks, before=gpus)

    def started(self, a_run, step):
        process = a_run.start()
        self.addCleanup(kill, process)
        if not a_run.reaches(step, process):
            self.fail(f"{a_run.directory.name} has ended before step {step}: {process.stderr.read()}")
        return process

    # The host of a rank that waits is somewhere in a launch or a read-back, which nothing but the end of the process can leave.
    def test_a_stopped_rank_is_named_by_its_peers(self):
        for number in range(STOPS):
            stopped = (SEED + number) % 3
            a_run = self.run_of(f"stopped{number}", "parallel.dp_shard=3", "train.steps=1000000", f"comm.deadline={DEADLINE}s", ranks=3,
                                gpus=on_gpus(3))
            launcher = self.started(a_run, 4)
            os.kill(ranks_of(launcher)[stopped], signal.SIGSTOP)
            began = time.monotonic()
            lines = [(time.monotonic() - began, line) for line in launcher.stderr]
            self.assertEqual(launcher.wait(PATIENCE), 75, lines)
            missing = "rank 0's store does not answer" if stopped == 0 else rf"; rank {stopped} did not arrive"
            named = [when for when, line in lines if re.search(rf"rank \d: .*{missing}", line)]
            print(f"stop {number}: rank {stopped} is named after {named[0] if named else None} s")
            self.assertTrue(named, lines)
            if NIGHTLY:
                self.assertLess(named[0] / DEADLINE, 1.25)

    # Started one by one, as a scheduler starts them: each has an exit code of its own.
    def test_a_killed_rank_is_named_by_its_peers(self):
        for number in range(STOPS):
            killed = 1 + (SEED + number) % 2  # without rank 0 there is no store, which the others say instead
            a_run = self.run_of(f"killed{number}", "parallel.dp_shard=3", "train.steps=1000000", f"comm.deadline={DEADLINE}s", gpus=on_gpus(3))
            ranks = []
            for rank in range(3):
                place = {"RANK": rank, "WORLD_SIZE": 3, "LOCAL_RANK": rank, "LOCAL_SIZE": 3, "NODE": 0, "NUM_NODES": 1, "JOB": f"killed{number}-{os.getpid()}",
                         "STORE": "127.0.0.1"}
                environment = os.environ | {f"SHOAL_{name}": str(value) for name, value in place.items()}
                ranks.append(a_run.start(env=environment))
                self.addCleanup(kill, ranks[-1])
            if not a_run.reaches(4, ranks[0]):
                self.fail(f"killed{number} has ended before step 4: {ranks[0].stderr.read()}")
            os.kill(ranks[killed].pid, signal.SIGKILL)
            began = time.monotonic()
            lines = [(time.monotonic() - began, line) for line in ranks[0].stderr]
            codes = [process.wait(PATIENCE) for process in ranks]
            lines += [(None, line) for process in ranks[1:] for line in process.stderr]
            self.assertEqual(codes, [-9 if rank == killed else 75 for rank in range(3)], lines)
            named = [when for when, line in lines if re.search(rf"rank 0: .*; rank {killed} did not arrive", line)]
            print(f"kill {number}: rank {killed} is named after {named[0] if named else None} s")
            self.assertTrue(named, lines)
            if NIGHTLY:
                self.assertLess(named[0] / DEADLINE, 1.25)

    def test_a_run_is_killed_and_resumed_on_another_layout(self):
        steps = ["train.steps=9", "train.save_every=3"]
        whole = self.run_of("whole", *steps, "train.device=cpu")
        whole.finish()
        first = self.run_of("moved", *steps, "parallel.tp=3", ranks=3, gpus=on_gpus(3))
        process = self.started(first, 6)
        kill(process)
        second = self.run_of("moved", *steps, "parallel.pp=2", "train.micro_batch=2", ranks=2, gpus=on_gpus(2))
        said = second.finish()
        self.assertEqual(complaints(said), [])
        expected, found = whole.rows(), second.rows()
        self.assertEqual([row["step"] for row in found], [row["step"] for row in expected])
        for one, other in zip(expected, found):
            self.assertAlmostEqual(float(one["loss"]), float(other["loss"]), delta=1e-5 * float(one["loss"]))

    def test_memory_that_is_not_there_is_no_bug(self):
        a_run = self.run_of("large", "model.width=1536", "model.layers=12", "train.steps=2", gpus=on_gpus(1, "--memory-mb", 256))
        said = a_run.finish(code=3)
        self.assertRegex(said, r"error: CUDA out of memory\. Tried to allocate")

    def test_two_ranks_cannot_share_a_gpu(self):
        a_run = self.run_of("shared", "train.steps=2", "parallel.dp_shard=2", ranks=2, gpus=on_gpus(1))
        self.assertRegex(a_run.finish(code=2), r"2 ranks run on this host, but it has 1 GPU")

    def test_a_device_needs_its_backend(self):
        for device, backend, text in (("cpu", "nccl", "train.device is cpu, but comm.backend is nccl"),
                                      ("cuda", "gloo", "train.device is cuda, but comm.backend is gloo")):
            a_run = self.run_of("wrong", "train.steps=2", f"train.device={device}", f"comm.backend={backend}", "parallel.dp_shard=2", ranks=2,
                                gpus=on_gpus(2))
            self.assertIn(text, a_run.finish(code=2))


if __name__ == "__main__":
    if "--stops" in sys.argv:
        at = sys.argv.index("--stops")
        STOPS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
