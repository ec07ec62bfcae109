#!/usr/bin/env python3
"""shoal train from the outside: kills and resumes, signals, wrong input, what it leaves behind."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from training_runs import ENDLESS, PATIENCE, SHOAL, documents, figures_of, last_step_of, load_tests, rows_of, shoal  # noqa: F401

# Odd sizes throughout: 7 x 23 tokens, 3 heads of 10, two micro-batches of 4 and 3.
CONFIG = """
model: {layers: 2, heads: 3, width: 30, context: 23, dropout: 0.1}
data: {sources: [tokens]}
optimizer: {lr: 3e-3, warmup: 5}
train: {batch: 7, micro_batch: 4, threads: 1, steps: 61, log_every: 20, eval_every: 25, eval_batches: 3, save_every: 9}
"""


def computed(process):
    """Seconds of CPU time."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="train-"))
        (cls.scratch / "text.txt").write_text(documents(seed=5))
        shoal("tokenizer", "train", "text.txt", "--kind", "character", "--output", "tok", cwd=cls.scratch)
        shoal("prepare", "--input", "text.txt", "--tokenizer", "tok", "--output", "tokens", "--separator", r"\n\n",
              cwd=cls.scratch)
        (cls.scratch / "config.yaml").write_text(CONFIG)
        shoal("train", "config.yaml", "--set", "run.name=whole", cwd=cls.scratch)
        cls.whole = figures_of(cls.scratch / "runs" / "whole")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def train(self, *sets, code=0, file="config.yaml"):
        words = [word for text in sets for word in ("--set", text)]
        return shoal("train", file, *words, cwd=self.scratch, code=code)

    def run_directory(self, name):
        return self.scratch / "runs" / name

    def start(self, name, *sets, before=()):
        words = [word for text in (f"run.name={name}", "train.init_from=resume", *sets) for word in ("--set", text)]
        return subprocess.Popen([*before, SHOAL, "train", "config.yaml", *words], cwd=self.scratch, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def wait_for_step(self, name, step, process):
        """Until the run has written that step, or has ended."""
        path = self.run_directory(name) / "metrics.csv"
        while process.poll() is None:
            if path.exists() and path.read_text().count("\n") > step:
                return
            time.sleep(0.002)


class Figures(Train):
    def test_every_step_is_there_once_and_the_model_learns(self):
        self.assertEqual(sorted(self.whole), list(range(1, 62)))
        self.assertLess(float(self.whole[61][1]), 0.8 * float(self.whole[1][1]))
        self.assertEqual([step for step, row in self.whole.items() if row[2]], [25, 50, 61])

    def test_the_run_tells_what_it_was(self):
        run = self.run_directory("whole")
        self.assertIn("vocab_size: 17", (run / "config.yaml").read_text())
        self.assertIn("libtorch", json.loads((run / "run.json").read_text())["engine"])
        self.assertTrue((run / "tokenizer.json").exists())
        for path in run.rglob("*"):
            if path.is_file():
                self.assertEqual(path.stat().st_mode & 0o777, 0o640, path)

    def test_what_was_expected_stands_beside_what_was_measured(self):
        plan = json.loads((self.run_directory("whole") / "plan.json").read_text())
        self.assertGreater(plan["expected"]["tensor_bytes"], 1000)
        self.assertNotIn("step_seconds", plan["expected"])
        self.assertEqual(plan["measured"]["steps"], 58)
        self.assertGreater(plan["measured"]["memory_bytes"], plan["expected"]["tensor_bytes"])
        times = sorted(float(row["dt"]) for row in rows_of(self.run_directory("whole"))[3:])
        self.assertAlmostEqual(plan["measured"]["step_seconds"], (times[28] + times[29]) / 2, places=6)

        (self.scratch / "cluster.yaml").write_text("device: {name: slow, fp32_tflops: 0.00001}\n")
        self.train("run.name=expected", "train.steps=2", "plan.cluster=cluster.yaml")
        plan = json.loads((self.run_directory("expected") / "plan.json").read_text())
        self.assertEqual(plan["expected"]["device"], "slow")
        self.assertGreater(plan["expected"]["step_seconds"], 1000)
        self.assertNotIn("step_seconds", plan["measured"])
        self.assertIn("nowhere.yaml", self.train("run.name=nowhere", "plan.cluster=nowhere.yaml", code=2).stderr)

    def test_the_fullest_rank_is_expected(self):
        # Seven sequences on two ranks: the second one has four, and the most memory.
        words = [word for text in ("run.name=fullest", "train.steps=1") for word in ("--set", text)]
        shoal("launch", "--ranks", "2", "--", "train", "config.yaml", *words, cwd=self.scratch)
        expected = json.loads((self.run_directory("fullest") / "plan.json").read_text())["expected"]
        planned = json.loads(shoal("plan", "config.yaml", "--ranks", "2", "--set", "model.vocab_size=17", "--json", cwd=self.scratch).stdout)
        self.assertEqual(expected["fullest_rank"], 1)
        self.assertEqual(expected["fullest_rank"], planned["layout"]["fullest_rank"])
        self.assertEqual(expected["tensor_bytes"], planned["memory"]["peak_bytes"])

    def test_csv_and_jsonl_hold_the_same(self):
        run = self.run_directory("whole")
        rows = rows_of(run)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        for row, line in zip(rows, lines, strict=True):
            self.assertEqual({key: float(text) for key, text in row.items() if text}, line)

    def test_micro_batches_do_not_matter_much(self):
        self.train("run.name=at_once", "train.micro_batch=auto")
        for step, row in figures_of(self.run_directory("at_once")).items():
            self.assertAlmostEqual(float(row[1]), float(self.whole[step][1]), places=3)

    def test_recompute_changes_nothing(self):
        for kind in ("selective", "full"):
            self.train(f"run.name={kind}", f"train.recompute={kind}")
            self.assertEqual(figures_of(self.run_directory(kind)), self.whole, kind)

    def test_every_precision_learns(self):
        for precision in ("bf16", "fp16", "fp64"):
            self.train(f"run.name={precision}", f"train.precision={precision}")
            last = figures_of(self.run_directory(precision))[61]
            self.assertAlmostEqual(float(last[1]), float(self.whole[61][1]), delta=0.1, msg=precision)

    def test_muon_learns(self):
        self.train("run.name=muon", "optimizer.kind=muon")
        self.assertLess(float(figures_of(self.run_directory("muon"))[61][1]), 0.8 * float(self.whole[1][1]))


# A run that is told to stop when enough was seen of it. Its learning rate does not depend on the number of its steps.
UNTIL_TOLD = [ENDLESS, "optimizer.lr_schedule=constant", "train.eval_every=0"]


class Kills(Train):
    def expect_figures_of_a_whole_run(self, name):
        """As many steps without a signal have the same figures."""
        found = figures_of(self.run_directory(name))
        self.train(f"run.name={name}-whole", *UNTIL_TOLD, f"train.steps={max(found)}")
        self.assertEqual(found, figures_of(self.run_directory(f"{name}-whole")))

    def stop_after(self, name, step, process, sent):
        """Sends a signal when that step is written. The exit code, and what the run says."""
        self.wait_for_step(name, step, process)
        process.send_signal(sent)
        _, error = process.communicate(timeout=PATIENCE)
        return process.returncode, error

    def test_ten_kills_leave_no_trace(self):
        generator = random.Random(11)
        for step in sorted(generator.sample(range(1, 61), 10)):
            process = self.start("killed")
            self.wait_for_step("killed", step, process)
            process.kill()
            process.communicate()
        process = self.start("killed")
        self.assertEqual(process.wait(), 0, process.stderr.read())
        process.stderr.close()
        self.assertEqual(figures_of(self.run_directory("killed")), self.whole)

    def test_a_run_that_is_stopped_where_it_is_evaluated_is_evaluated_when_it_goes_on(self):
        """Each step is evaluated, so that it is stopped at one that is."""
        words = ["train.eval_every=1", "train.eval_batches=2", "train.steps=100"]
        self.train("run.name=evaluated", *words)
        for number in range(5):
            process = self.start("stopped", *words)
            self.wait_for_step("stopped", 6 * number + 5, process)
            process.send_signal(signal.SIGTERM)
            _, error = process.communicate()
            self.assertEqual(process.returncode, 75, error)
        self.train("run.name=stopped", "train.init_from=resume", *words)
        self.assertEqual(figures_of(self.run_directory("stopped")), figures_of(self.run_directory("evaluated")))
        best = [json.loads((self.run_directory(name) / "checkpoints" / "best.json").read_text()) for name in ("stopped", "evaluated")]
        self.assertEqual(best[0], best[1])

    def test_a_last_step_that_is_evaluated_late_is_saved_as_the_best(self):
        words = ["train.eval_every=1", "train.eval_batches=2"]
        process = self.start("late", *words)
        self.wait_for_step("late", 7, process)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate()
        self.assertEqual(process.returncode, 75, error)
        last = max(figures_of(self.run_directory("late")))
        self.train("run.name=late", "train.init_from=resume", *words, f"train.steps={last}")
        losses = {step: float(row[2]) for step, row in figures_of(self.run_directory("late")).items()}
        self.assertEqual(min(losses, key=losses.get), last)
        best = json.loads((self.run_directory("late") / "checkpoints" / "best.json").read_text())
        self.assertEqual(best["step"], last)

    def test_a_run_goes_on_with_its_own_model(self):
        self.train("run.name=own", "train.steps=3")
        for change, says in (("model.norm_epsilon=1e-3", "model.norm_epsilon: 1.0e-05, not 0.001 as in this config"), ("model.activation=gelu", "model.activation: "),
                             ("optimizer.kind=muon", "optimizer.kind: adamw, not muon")):
            self.assertIn(says, self.train("run.name=own", "train.init_from=resume", "train.steps=5", change, code=2).stderr)
        self.train("run.name=own", "train.init_from=resume", "train.steps=5", "model.dropout=0", "optimizer.lr=1e-4")

    def test_tokens_of_another_tokenizer_are_not_evaluated(self):
        self.scratch.joinpath("short.txt").write_text(documents(seed=6).replace("w", "b"))
        shoal("tokenizer", "train", "short.txt", "--kind", "character", "--output", "other_tok", cwd=self.scratch)
        shoal("prepare", "--input", "short.txt", "--tokenizer", "other_tok", "--output", "other_tokens", cwd=self.scratch)
        self.assertIn("another tokenizer", shoal("eval", "runs/whole", "--data", "other_tokens", "--split", "train", cwd=self.scratch, code=2).stderr)
        shoal("eval", "runs/whole", "--data", "tokens", cwd=self.scratch)

    def test_sigterm_saves_and_asks_to_be_started_again(self):
        for sent, code in ((signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGINT, 130)):
            name = f"signal-{sent}"
            found, error = self.stop_after(name, 13, self.start(name, *UNTIL_TOLD), sent)
            self.assertEqual(found, code, error)
            self.assertIn(b"which is saved in", error)
            last = max(figures_of(self.run_directory(name)))
            found, error = self.stop_after(name, last + 7, self.start(name, *UNTIL_TOLD), signal.SIGTERM)
            self.assertEqual(found, 75, error)
            self.expect_figures_of_a_whole_run(name)

    def test_an_evaluation_ends_on_a_signal(self):
        for sent in (signal.SIGTERM, signal.SIGINT):
            process = self.start("evaluates", "train.eval_only=true", "train.init_from=scratch", "train.eval_batches=100000000")
            owner = self.run_directory("evaluates") / "owner-000001"
            while computed(process) < 3:  # seconds: it begins after a third of one
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            self.assertTrue(owner.exists())
            process.send_signal(sent)
            _, error = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 75, error)
            self.assertFalse(owner.exists())

    def test_a_hangup_stops_a_run_unless_it_was_started_with_nohup(self):
        code, error = self.stop_after("hangup", 13, self.start("hangup", *UNTIL_TOLD), signal.SIGHUP)
        self.assertEqual(code, 75, error)
        process = self.start("nohup", *UNTIL_TOLD, before=["nohup"])
        self.wait_for_step("nohup", 13, process)
        process.send_signal(signal.SIGHUP)
        code, error = self.stop_after("nohup", last_step_of(self.run_directory("nohup")) + 7, process, signal.SIGTERM)
        self.assertEqual(code, 75, error)
        self.expect_figures_of_a_whole_run("nohup")

    def test_a_validation_split_without_targets_has_no_loss(self):
        """Prompts are not learned, and completions are beyond the samples that are evaluated."""
        texts = [{"prompt": f"{number * 'a'} deep water " * 100, "completion": "s"} for number in range(12)]
        (self.scratch / "prompts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
        shoal("prepare", "--input", "prompts.jsonl", "--fields", "prompt,completion", "--tokenizer", "tok", "--validation", "hash:0.5",
              "--output", "prompts", cwd=self.scratch)
        said = self.train("run.name=untold", "data.sources=[prompts]", "train.steps=6", "train.eval_every=3", "train.eval_batches=1").stderr
        self.assertEqual(said.count("no target of the validation samples counts"), 2, said)
        self.assertEqual({row[2] for row in figures_of(self.run_directory("untold")).values()}, {""})
        self.assertFalse((self.run_directory("untold") / "checkpoints" / "best.json").exists())
        said = shoal("eval", "runs/untold", "--data", "prompts", "--batches", "1", cwd=self.scratch, code=3).stderr
        self.assertIn("no target", said)


class Wrong(Train):
    def expect(self, *sets, says, code=2):
        error = self.train(*sets, code=code).stderr
        self.assertIn(says, error)
        self.assertNotIn("terminate called", error)

    def test_wrong_input_is_told(self):
        self.expect("run.name=w", "data.sources=[]", says="data.sources is empty")
        self.expect("run.name=w", "data.sources=[nowhere]", says="nowhere", code=3)
        self.expect("run.name=w", "model.vocab_size=5", says="the data has ids up to 16")
        self.expect("run.name=w", "train.init_from=nowhere", says="nowhere/config.json", code=3)
        self.expect("run.name=w", "train.device=cuda", says="this build or host has none")
        self.expect("run.name=whole", says="holds checkpoints of a run")
        self.expect("run.name=w", "model.context=100000", says="make the sequence shorter or the corpus longer")

    def test_other_data_is_not_gone_on_with(self):
        shutil.copytree(self.run_directory("whole"), self.run_directory("moved"))
        self.expect("run.name=moved", "run.seed=9", "train.init_from=resume", "train.steps=70",
                    says="trained on other data, or in another order")

    def test_a_save_is_left_out_while_another_is_written(self):
        self.expect("run.name=often", "train.save_every=1", "train.keep=100",
                    says="is not saved: the last save is not finished", code=0)
        steps = [int(path.name.removeprefix("step-")) for path in self.checkpoints("often")]
        self.assertEqual(max(steps), 61)  # the last one is waited for
        self.train("run.name=waited", "train.save_every=1", "train.keep=100", "train.background_save=false")
        self.assertEqual(len(self.checkpoints("waited")), 61)

    def test_a_damaged_checkpoint_is_passed_over(self):
        shutil.copytree(self.run_directory("whole"), self.run_directory("damaged"))
        self.assertGreater(len(self.checkpoints("damaged")), 1)
        newest = self.flip_a_bit(self.checkpoints("damaged")[-1])
        self.expect("run.name=damaged", "train.init_from=resume", says=f"{newest.name} is damaged", code=0)
        for checkpoint in self.checkpoints("damaged"):  # others by now: the resumed run has pruned
            self.flip_a_bit(checkpoint)
        self.expect("run.name=damaged", "train.init_from=resume", "train.steps=70", says="checkpoints in", code=3)

    def checkpoints(self, name):
        return sorted(self.run_directory(name).glob("checkpoints/step-*"))

    def flip_a_bit(self, checkpoint):
        data = next(checkpoint.glob("*.safetensors"))
        content = bytearray(data.read_bytes())
        content[len(content) // 2] ^= 1
        data.write_bytes(content)
        return data


if __name__ == "__main__":
    unittest.main()
