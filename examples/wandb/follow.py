#!/usr/bin/env python3
"""Feeds the metrics of a run to Weights & Biases while it trains: follow.py RUN [--project NAME] [--every SECONDS]

RUN is a run's directory. It may be started before the run, be stopped and started again, and it ends with the run's last step.
Training never waits for it: all it does is read metrics.jsonl. WANDB_MODE=offline needs neither a network nor an account.
"""
import argparse
import json
import os
import pathlib
import signal
import time
import uuid

import wandb

STATE = "wandb.json"  # in the run's directory: the id of the W&B run, and the last step that was given to it


class Lines:
    """The whole lines that a file has got since they were last asked for."""

    def __init__(self, path):
        self.path, self.place, self.last = path, 0, b""

    def new(self):
        try:
            file = open(self.path, "rb")
        except FileNotFoundError:
            return []
        with file:
            # A run that resumes cuts its file back and writes other lines there: then ours is no longer where it was.
            file.seek(self.place - len(self.last))
            if file.read(len(self.last)) != self.last:
                self.place, self.last = 0, b""
                file.seek(0)
            lines = file.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()  # being written, or torn by a kill
        if lines:
            self.place, self.last = self.place + sum(map(len, lines)), lines[-1]
        return lines


def figures_of(record):
    """What W&B gets of a record: JSON has no NaN, so NaN and the infinities stand there as text."""
    return {name: float(value) if isinstance(value, str) else value for name, value in record.items() if name != "step"}


def read_state(directory):
    path = directory / STATE
    return json.loads(path.read_text()) if path.exists() else {"id": uuid.uuid4().hex[:8], "step": 0}


def write_state(directory, state):
    (directory / f"{STATE}.new").write_text(json.dumps(state))
    os.replace(directory / f"{STATE}.new", directory / STATE)


def follow(directory, run, state, every, stopped):
    lines = Lines(directory / "metrics.jsonl")
    record = {}
    while record.get("time_left") != 0 and not stopped:  # 0 behind the last step
        for line in lines.new():
            if stopped:
                break
            record = json.loads(line)
            if record["step"] > state["step"]:  # else it was logged before this program, or the run, was started again
                state["step"] = record["step"]
                write_state(directory, state)  # first: a kill may lose steps, but none is there twice
                run.log(figures_of(record), step=record["step"])
        time.sleep(every)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", metavar="RUN", type=pathlib.Path, help="directory of the run, such as runs/shakespeare")
    parser.add_argument("--project", default="shoal", help="of W&B; shoal without this")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="between looks at the file; 2 without this")
    words = parser.parse_args()
    while not words.directory.is_dir():  # the run has not begun
        time.sleep(words.every)
    stopped = []  # by a signal; between two records, so that both W&B and the state know of the same ones
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    state = read_state(words.directory)
    with wandb.init(project=words.project, name=words.directory.resolve().name, id=state["id"], resume="allow", dir=words.directory) as run:
        follow(words.directory, run, state, words.every, stopped)


if __name__ == "__main__":
    main()
