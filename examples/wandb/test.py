#!/usr/bin/env python3
"""follow.py beside a real run that is killed and resumed, itself stopped, killed and started again: what W&B's own files then hold.

    test.py DIRECTORY     a directory that is made anew
"""
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SITE = HERE.parent.parent / ".deps" / "site"
sys.path.insert(0, str(SITE))
try:
    import wandb  # noqa: F401
    from wandb.proto import wandb_internal_pb2
except ImportError as missing:
    print(f"skipped: {missing} (tools/deps.sh check)")
    sys.exit(77)

SHOAL = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]).resolve() / "shoal"
SCRATCH = pathlib.Path(sys.argv.pop()).resolve()
RUN = SCRATCH / "runs" / "followed"
PATIENCE = 100  # seconds for anything: only what hangs takes so long
STEPS = 250  # of some 20 ms, so that the run goes on while the follower starts again
CONFIG = f"""
run: {{name: followed}}
model: {{layers: 4, heads: 4, width: 128, context: 64}}
data: {{sources: [tokens]}}
train: {{steps: {STEPS}, batch: 8, threads: 1, log_every: 50, eval_every: 25, eval_batches: 1, save_every: 10, init_from: resume}}
"""


def load_follower():
    spec = importlib.util.spec_from_file_location("follow", HERE / "follow.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records_of(path):
    """The messages of a .wandb file, which is a log of LevelDB's kind: blocks of 32 KiB, in them pieces with a head of seven bytes."""
    content, place, parts = path.read_bytes(), 7, b""
    assert content[:4] == b":W&B", content[:7]
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:  # too few for a head
            place += left
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        parts += content[place + 7:place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


def logged():
    """The records that W&B holds of the run, in the order of its files: pairs of a step and its figures; and the ids of its runs."""
    history, ids = [], set()
    for path in sorted(RUN.glob("wandb/offline-run-*/*.wandb")):
        for record in records_of(path):
            if record.WhichOneof("record_type") == "run":
                ids.add(record.run.run_id)
            if record.WhichOneof("record_type") == "history":
                figures = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                history.append((record.history.step.num, {name: value for name, value in figures.items() if name[0] != "_"}))
    return history, ids


def start(*words):
    environment = os.environ | {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "HOME": str(SCRATCH), "PYTHONPATH": str(SITE)}
    return subprocess.Popen(list(map(str, words)), cwd=SCRATCH, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def start_follower():
    return start(sys.executable, HERE / "follow.py", RUN, "--every", 0.05)


def end_of(process, code=0):
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, f"{process.args}: exit {process.returncode}, not {code}\n{said}"


def wait_for(step, *processes):
    """Until the follower says in its file that it has logged that step."""
    until = time.monotonic() + PATIENCE
    while not (RUN / "wandb.json").exists() or json.loads((RUN / "wandb.json").read_text())["step"] < step:
        for process in processes:
            assert process.poll() is None, f"{process.args} has ended before step {step}: {process.communicate()[0]}"
        assert time.monotonic() < until, f"step {step} was not logged in {PATIENCE} s"
        time.sleep(0.01)


class Follow(unittest.TestCase):
    def test_lines_that_are_torn_or_cut_back(self):
        path = SCRATCH / "lines.jsonl"
        lines = load_follower().Lines(path)
        self.assertEqual(lines.new(), [])
        path.write_bytes(b"one\ntwo\nthr")
        self.assertEqual(lines.new(), [b"one\n", b"two\n"])
        self.assertEqual(lines.new(), [])
        path.write_bytes(b"one\ntwo\nthree\nfour\n")
        self.assertEqual(lines.new(), [b"three\n", b"four\n"])
        path.write_bytes(b"one\ntwo\n")  # cut back
        self.assertEqual(lines.new(), [b"one\n", b"two\n"])
        path.write_bytes(b"one\nzwei\ndrei\n")  # cut back, and grown beyond the old end since
        self.assertEqual(lines.new(), [b"one\n", b"zwei\n", b"drei\n"])

    def test_nan_is_a_number_again(self):
        figures = load_follower().figures_of(json.loads('{"step":3,"loss":"nan","grad_norm":"inf","lr":0.5}'))
        self.assertEqual(str(figures), "{'loss': nan, 'grad_norm': inf, 'lr': 0.5}")

    def test_a_run_that_is_killed_and_a_follower_that_is_stopped_and_killed(self):
        text = HERE.parent / "train_shakespeare" / "shakespeare.txt"
        end_of(start(SHOAL, "prepare", "--input", text, "--tokenizer", "byte", "--output", "tokens", "--validation", "tail:0.1"))
        (SCRATCH / "config.yaml").write_text(CONFIG)

        follower = start_follower()  # before there is a run
        training = start(SHOAL, "train", "config.yaml")
        wait_for(33, follower, training)
        training.kill()
        training.communicate()
        before = (RUN / "metrics.jsonl").read_bytes()
        training = start(SHOAL, "train", "config.yaml")  # goes on from a checkpoint, behind which the lines are cut off
        wait_for(55, follower, training)
        follower.send_signal(signal.SIGTERM)
        end_of(follower)
        stopped_behind = json.loads((RUN / "wandb.json").read_text())["step"]
        follower = start_follower()
        wait_for(75, follower)
        follower.kill()
        follower.communicate()
        killed_behind = json.loads((RUN / "wandb.json").read_text())["step"]
        end_of(training)
        end_of(start_follower())

        records = {record["step"]: record for record in map(json.loads, (RUN / "metrics.jsonl").read_text().splitlines())}
        self.assertEqual(sorted(records), list(range(1, STEPS + 1)))
        self.assertFalse((RUN / "metrics.jsonl").read_bytes().startswith(before), "the killed run's last lines were not replaced")
        history, ids = logged()
        steps = [step for step, _ in history]
        self.assertEqual(len(ids), 1, ids)
        self.assertEqual(steps, sorted(set(steps)), "a step was logged twice, or out of order")
        lost = set(records) - set(steps)
        self.assertLessEqual(lost, set(range(stopped_behind + 1, killed_behind + 1)), "more is lost than what W&B had not written at the kill")
        for step, figures in history:
            for name in ("loss", "val_loss", "lr", "grad_norm", "tokens"):
                self.assertEqual(figures.get(name), records[step].get(name), f"{name} of step {step}")


if __name__ == "__main__":
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    unittest.main(verbosity=2)
