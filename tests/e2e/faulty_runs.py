"""Runs under `shoal launch --max-restarts` whose ranks are killed, stopped or made to hang, and what is seen of that."""
import json
import os
import queue
import re
import signal
import statistics
import threading
import time

from threads import hang
from training_runs import PATIENCE, ranks_of


class Said:
    """What a process says on standard error, with the time of each line."""

    def __init__(self, process):
        self.lines = queue.Queue()
        self.all = []
        threading.Thread(target=self._read, args=[process.stderr], daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.put((time.monotonic(), line))

    def so_far(self):
        while not self.lines.empty():
            self.all.append(self.lines.get()[1])
        return "".join(self.all)

    def wait_for(self, pattern):
        until = time.monotonic() + PATIENCE
        while True:
            moment, line = self.lines.get(timeout=max(0.1, until - time.monotonic()))
            self.all.append(line)
            if re.search(pattern, line):
                return moment, line


def texts_of(run, tag):
    path = run.directory / "texts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [row for row in rows if row["tag"] == tag]


def restarts_of(run):
    return texts_of(run, "restart")


def steps_again(run, number, process, said):
    """Waits for the first step after that restart."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        told = restarts_of(run)
        if len(told) >= number and run.last_step() > int(re.search(r"after step (\d+)", told[number - 1]["text"])[1]):
            return
        time.sleep(0.005)
    raise AssertionError(f"no step after restart {number}: exit code {process.poll()}\n{said.so_far()}")


def newest_checkpoint(run):
    return max((int(path.name.removeprefix("step-")) for path in run.directory.glob("checkpoints/step-*") if path.name[5:].isdigit()), default=0)


def comes_to_a_checkpoint(run, process):
    """Waits until it has saved since its last start: without that, three faults in a row are no progress, and it is given up."""
    told = restarts_of(run)
    began = int(re.search(r"after step (\d+)", told[-1]["text"])[1]) if told else 0
    until = time.monotonic() + PATIENCE
    while newest_checkpoint(run) <= began and process.poll() is None:
        assert time.monotonic() < until, f"no checkpoint after step {began}"
        time.sleep(0.005)


class Faults:
    def __init__(self, chance):
        self.chance = chance
        self.seen = {"kill": [], "stop": [], "hang": []}
        self.again = []
        self.named = 0

    def strike(self, run, process, said, number, kind):
        """A fault in a random rank; then the run goes on."""
        comes_to_a_checkpoint(run, process)
        run.reaches(run.last_step() + self.chance.randint(0, 3), process)
        ranks = ranks_of(process)
        rank = self.chance.choice(sorted(ranks))
        time.sleep(self.chance.random() * 0.02)  # anywhere in a step
        began = time.monotonic()
        if kind == "hang":
            hang(ranks[rank], PATIENCE)
        else:
            os.kill(ranks[rank], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        # Peers notice that a rank hangs, and say so; the launcher's line comes when all ranks have ended.
        moment = said.wait_for(r"^error: rank ")[0] if kind == "stop" else None
        ended, line = said.wait_for(r"^launch: (passed|rank)")
        steps_again(run, number, process, said)
        self.again.append(time.monotonic() - began)
        self.seen[kind].append((moment or ended) - began)
        if kind == "kill":
            right = f"launch: rank {rank} (pid {ranks[rank]}) was killed by SIGKILL in step " in line
        elif kind == "hang":
            right = re.search(rf"rank {rank} on \S+ has made no progress|rank {rank}\b(?! \(pid)", line) is not None
        else:
            right = re.search(rf"rank {rank}\b(?! \(pid)", line) is not None
        self.named += right
        if not right:
            print(f"rank {rank} was not named ({kind}): {line}", flush=True)


def summary(numbers):
    return f"median {statistics.median(numbers):.2f} s, longest {max(numbers):.2f} s" if numbers else "none"
