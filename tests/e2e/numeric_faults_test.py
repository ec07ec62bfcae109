#!/usr/bin/env python3
"""Runs of shoal train whose numbers go wrong: steps that are skipped, bits that flip, precisions that do not hold what they should;
and validation losses, which are the same on every layout.

    SHOAL_BINARY_DIR=build/release tests/e2e/numeric_faults_test.py [Numbers.test_step_one_in_fp16_is_not_skipped ...]
"""
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import unittest

from safetensors_file import bytes_of, change_number
from small_runs import SmallRuns
from training_runs import documents, end_of, equal_checkpoints, load_tests, ranks_of, shoal  # noqa: F401


def flip_in_memory(pid, before):
    """Flips a bit of each copy of these bytes in the memory of a process that has stopped; how many there were."""
    flipped = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            begin, end = (int(text, 16) for text in span.split("-"))
            content = b""
            with contextlib.suppress(OSError, ValueError):  # what the kernel keeps for itself
                memory.seek(begin)
                content = memory.read(end - begin)
            at = content.find(before)
            while at >= 0:
                memory.seek(begin + at)
                memory.write(bytes([before[0] ^ 4]))
                flipped += 1
                at = content.find(before, at + 1)
    return flipped


class Numbers(SmallRuns):
    def test_a_run_whose_every_step_is_skipped_ends(self):
        # AdamW's first step moves every weight by the learning rate, and with weights of 1000 fp16 overflows.
        run = self.run_of("skipped", "train.precision=fp16", "optimizer.lr=1000", "optimizer.warmup=0", "train.steps=1000",
                          "optimizer.skip_limit=7", ranks=2)
        said = run.finish(code=16)
        self.assertIn("the last 7 steps up to 8 were skipped, because their losses or gradients are not finite", said)
        self.assertIn("optimizer.skip_limit", said)
        self.assertEqual(self.column(run, "skipped_steps"), list(range(7)))  # of steps 1 to 7

    def test_a_step_that_is_skipped_is_repeated(self):
        # Each step multiplies the matrices by 1 - lr * weight_decay, until a product is no number any more.
        run = self.run_of("repeated", "optimizer.lr=1000", "optimizer.warmup=0", "optimizer.weight_decay=10", "train.steps=50",
                          "optimizer.skip_limit=3", ranks=2)
        said = run.finish(code=16)
        self.assertEqual(said.count("its replay computes the same result: its samples or the weights are the cause"), 1, said)

    def test_a_replay_changes_no_figure(self):
        figures = []
        for name, every in (("plain", 0), ("twice", 3)):
            run = self.run_of(name, "train.steps=13", f"train.replay_every={every}", "model.dropout=0.1", "train.micro_batch=2", ranks=2)
            run.finish()
            figures.append(run.figures())
        self.assertEqual(figures[0], figures[1])

    def test_a_bit_that_flips_in_a_live_rank(self):
        """With a learning rate of 0 weights keep the values that they are drawn with, and are found in the memory of a rank."""
        common = ["optimizer.lr=0", "train.steps=200", "train.save_every=10", "train.compare_every=7", "parallel.sharding=no_shard"]
        quiet = self.run_of("quiet-bits", *common, ranks=3)
        quiet.finish()
        file = quiet.directory / "checkpoints" / "step-000000200" / "rank-00000-00000.safetensors"
        name = "weights.blocks.0.attention.out.weight"
        run = self.run_of("flipped", *common, ranks=3, launch=["--max-restarts", "2"])
        launcher = self.started(run, 12)
        victim = ranks_of(launcher)[1]
        os.kill(victim, signal.SIGSTOP)
        self.assertGreater(flip_in_memory(victim, bytes_of(file, name)[80:144]), 0)
        os.kill(victim, signal.SIGCONT)
        said = end_of(launcher)
        self.assertRegex(said, rf"after step \d+: rank 1 on {re.escape(socket.gethostname())} holds other bits of "
                               r"blocks\.0\.attention\.out\.weight than its replicas 0, 2; this state is not saved")
        self.assertIn("restart 1 of 2", said)
        self.assertEqual(run.figures(), quiet.figures())
        same, difference = equal_checkpoints(run.directory, quiet.directory)
        self.assertTrue(same, difference)

    def test_a_nan_validation_is_never_best(self):
        # A letter that only validation has, with a weight that is infinite in fp16 until decay has made it smaller: it begins
        # as 1e5, a step leaves nine tenths of it, and 0.9^5 x 1e5 is the first below 65,520.
        self.prepare("marked", documents(8).replace("\n\n", " ") + 200 * " ~sea", "tail:0.05")
        family = ["model.positions=rotary", "model.norm=rms", "model.activation=swiglu", "model.bias=none", "model.tied=false"]
        new = self.run_of("new", *family, "train.steps=1", "optimizer.lr=0", sources=["marked"])
        new.finish()
        weights = self.scratch / "weights"
        shoal("checkpoint", "export", new.directory, "--output", weights)
        change_number(weights / "model.safetensors", "model.embed_tokens.weight", 30 * ord("~"), 1e5)
        run = self.run_of("judged", f"train.init_from={weights}", "train.precision=fp16", "train.steps=7", "train.eval_every=1",
                          "train.background_save=false", "optimizer.lr=0.01", "optimizer.warmup=0", "optimizer.weight_decay=10",
                          sources=["marked"])
        run.finish()
        losses = self.column(run, "val_loss")
        self.assertEqual([math.isfinite(loss) for loss in losses], 4 * [False] + 3 * [True])
        best = json.loads((run.directory / "checkpoints" / "best.json").read_text())
        self.assertEqual(best["value"], min(losses[4:]))

    def test_step_one_in_fp16_is_not_skipped(self):
        run = self.run_of("half", "train.precision=fp16", "train.steps=30")
        run.finish()
        self.assertEqual(self.column(run, "skipped_steps"), [0] * 30)
        losses = self.column(run, "loss")
        self.assertLess(losses[-1], 0.8 * losses[0])

    def test_a_run_in_fp32_goes_on_in_fp16(self):
        """Only fp16 has a scale of gradients to save: a run that had none begins with a new one."""
        first = self.run_of("narrower", "train.precision=fp32", "train.steps=5", "train.save_every=5")
        first.finish()
        second = self.run_of("narrower", "train.precision=fp16", "train.steps=9", "train.save_every=5")
        second.finish()
        rows = second.rows()
        self.assertEqual([int(row["step"]) for row in rows], list(range(1, 10)))
        self.assertEqual(rows[-1]["skipped_steps"], "0")

    def test_a_run_of_no_steps_ends(self):
        self.run_of("none", "train.steps=0").finish()

    def test_precisions_below_fp32_go_on_in_another_layout(self):
        """Masters and moments are cut along other borders. docs/verify.md allows a loss one epsilon of the type it is computed
        in, of its size; weights that were not loaded would show more than tenfold, as the last line says."""
        for precision, epsilon, before, after in (("bf16", 2**-7, "dp_shard 3", "tp 2"), ("fp16", 2**-10, "tp 2", "dp_shard 3")):
            common = [f"train.precision={precision}", "train.steps=24", "train.save_every=20", "train.background_save=false"]
            whole, moved = (self.run_of(f"{name}-{precision}", *common, "parallel." + layout.replace(" ", "="), ranks=int(layout[-1]))
                            for name, layout in (("whole", before), ("moved", after)))
            whole.finish()
            shutil.copytree(whole.directory, moved.directory)
            shutil.rmtree(moved.directory / "checkpoints" / "step-000000024")
            moved.finish()
            self.assertIn(after, shoal("checkpoint", "inspect", moved.directory, "--value", "layout").stdout)
            old, new = self.column(whole, "loss"), self.column(moved, "loss")
            print(f"{precision}: largest difference {max(abs(a - b) for a, b in zip(old, new, strict=True))}")
            self.assertEqual(old[:20], new[:20])  # to the bit: the new layout has not taken these steps itself
            for a, b in zip(old[20:], new[20:]):
                self.assertLess(abs(a - b), epsilon * a)
            self.assertGreater(old[0] - old[20], 10 * epsilon * old[0])


class Validation(SmallRuns):
    SETS = ["train.precision=fp64", "train.eval_every=1"]

    def losses(self, name, *sets, **more):
        run = self.run_of(name, *self.SETS, *sets, **more)
        run.finish()
        return self.column(run, "val_loss")

    def assert_close(self, found, expected):
        """Additions in another order, of some thousand numbers in fp64."""
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertLess(abs(a - b), 1e-12 * abs(b))

    def test_validation_is_the_same_on_every_layout(self):
        # 7 sequences are divided evenly neither among ranks nor into micro-batches, and 2 are fewer than there are ranks.
        sets = ["train.steps=3", "train.eval_batches=3", "train.micro_batch=2"]
        alone = self.losses("judged-by-1", *sets)
        self.assertEqual(len(set(alone)), 3)
        for ranks in (2, 3):
            self.assert_close(self.losses(f"judged-by-{ranks}", *sets, ranks=ranks), alone)

    def test_every_source_is_asked(self):
        # A learning rate of 0 leaves the first weights to all of them. Every target counts alike, so losses are means of means.
        sets = ["train.steps=1", "optimizer.lr=0", "data.order=sequential", "data.separate_documents=false"]
        one, = self.losses("one", *sets, "train.eval_batches=1", sources=["tokens"])
        other, = self.losses("other", *sets, "train.eval_batches=1", sources=["others"])
        self.assertGreater(abs(one - other), 1e-6)
        both = self.losses("both", *sets, "train.eval_batches=2", sources=["tokens", "others"], ranks=2)
        self.assert_close(both, [(one + other) / 2])
        second = self.losses("second", *sets, "train.eval_batches=1", sources=["unjudged", "others"])
        self.assert_close(second, [other])


if __name__ == "__main__":
    unittest.main()
