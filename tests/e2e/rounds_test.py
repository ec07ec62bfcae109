#!/usr/bin/env python3
"""With comm.lost_rank=go_on, replicas that are left go on when a rank is killed or falls silent, without a restart, and take it or its
successor back. Each run has the figures and the last checkpoint, to the bit, of one that was told to change its layout at the same
steps, by checkpoints. Prints how long there were no steps.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/rounds_test.py [--losses 30]
"""
import argparse
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading
import time
import typing

import threads
from faulty_runs import Said, summary, texts_of
from training_runs import ENDLESS, NIGHTLY, PATIENCE, SAVES_EVERY_STEP, SEED, REQUEUE, Run, goes_until, is_alike, kill, ranks_of, shoal, stop

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()


class Layout(typing.NamedTuple):
    ranks: int
    left: int  # ranks without one replica
    sets: list
    sets_left: list
    companion: typing.Optional[int]  # another rank of rank 0's replica, if that has several


LAYOUTS = [
    Layout(4, 2, ["parallel.sharding=hybrid_shard", "parallel.dp_replicate=2"], ["parallel.sharding=full_shard"], 1),
    Layout(3, 2, ["parallel.sharding=no_shard", "parallel.dp_replicate=3", "train.precision=bf16"],
           ["parallel.sharding=no_shard", "parallel.dp_replicate=2", "train.precision=bf16"], None),
    Layout(4, 2, ["parallel.sharding=no_shard", "parallel.tp=2"], ["parallel.sharding=no_shard", "parallel.tp=2"], 1),
    Layout(4, 2, ["parallel.sharding=no_shard", "parallel.pp=2", "parallel.dp_replicate=2", "optimizer.kind=muon"],
           ["parallel.sharding=no_shard", "parallel.pp=2", "optimizer.kind=muon"], 2),
]
DEADLINE = 20  # seconds, of calls
MOST_OF_DEADLINE = 0.15  # that a job may be without steps after a kill
SILENCE = 5  # seconds, of that deadline
BEAT = SILENCE / 4  # a silence counts from a beat that was seen, and the others hear of it at one of theirs
# How a rank is lost, in turn. "behind": it is of rank 0's replica and killed after the last reduction of gradients, when the other replica
# can finish the step and rank 0, which needs the norm of its own replica, cannot.
KINDS = ["behind", "killed", "killed", "stopped"]
COMMON = ["train.eval_every=0", "train.batch=7", "train.micro_batch=2", "train.threads=1", "model.layers=3", "model.width=24", "model.heads=3",
          "model.context=17", "model.dropout=0.1", f"comm.deadline={DEADLINE}s", "train.compare_every=5", "optimizer.warmup=10",
          ENDLESS]
LAST = 5  # steps after the last change


class Seen:
    """What is seen of a run: what it says, and its steps as they are written, with their times."""

    def __init__(self, run, process):
        self.run = run
        self.said = Said(process)
        self.seen = [(time.monotonic(), 0)]
        threading.Thread(target=self._look, args=[run.directory / "metrics.csv", process], daemon=True).start()

    def _look(self, path, process):
        while process.poll() is None:
            lines = path.read_bytes().count(b"\n") if path.exists() else 0
            if lines - 1 > self.seen[-1][1]:
                self.seen.append((time.monotonic(), lines - 1))
            time.sleep(0.002)

    def last(self):
        return self.seen[-1][1]

    def after(self, step):
        """When a later one was seen."""
        return next(moment for moment, last in self.seen if last > step)

    def gap_at(self, step):
        """Until the next was seen."""
        return self.after(step) - self.after(step - 1)


def rounds_of(run):
    """Finished steps and ranks of each round after the first."""
    return [tuple(map(int, re.search(r"after step (\d+) with (\d+) of", row["text"]).groups())) for row in texts_of(run, "round")]


def seats_of_last_round(run):
    told = texts_of(run, "round")
    return [int(seat) for seat in told[-1]["text"].split(": ")[1].split(", ")] if told else []


def comes_to(condition, process, said):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None and time.monotonic() < until, f"exit code {process.poll()}:\n{said.so_far()}"
        time.sleep(0.002)


def lose(kind, process, seats, companion, chance):
    """Loses a rank in a way. Its process, what really happened, and when."""
    if kind == "behind" and companion is None:
        kind = "killed"
    pid = ranks_of(process)[seats[companion] if kind == "behind" else chance.choice(seats[1:])]
    if kind == "behind":
        threads.hang_in(pid, "shoal::optim::Optimizer::squared_norm() const", PATIENCE)
        time.sleep(0.3)  # the others come to a stand, without a sign of it
    os.kill(pid, signal.SIGSTOP if kind == "stopped" else signal.SIGKILL)
    return pid, kind, time.monotonic()


def stops(process, seen, step):
    """The run is told to end after that step or a later one, and saves. The last step it did."""
    comes_to(lambda: seen.last() >= step, process, seen.said)
    return stop(seen.run, process)


def told(scratch, name, words, changes, steps, layouts):
    """The same run, with a checkpoint after every step, of which each change of ranks takes the one it is told to."""
    run = None
    ranks = max(layouts)
    for until, next_ranks in [*changes, (steps, 0)]:
        run = Run(scratch, name, *words, *layouts[ranks], *SAVES_EVERY_STEP, ranks=ranks)
        goes_until(run, until)
        ranks = next_ranks
    return run


def takes_over(scratch, words, losses, chance):
    """A spare rank takes the place of each that is killed: no replica is missed, and the run is that of a job without losses. What is wrong."""
    sets = ["parallel.sharding=hybrid_shard", "parallel.dp_replicate=2"]
    run = Run(scratch, "spared", *words, *sets, "train.save_every=0", "comm.lost_rank=go_on", "comm.spare_ranks=1", ranks=5,
              launch=("--max-restarts", "1000"))
    process = run.start()
    seen = Seen(run, process)
    try:
        for loss in range(1, losses + 1):
            reached = rounds_of(run)[-1][0] if loss > 1 else 0
            comes_to(lambda: seen.last() >= reached + chance.randint(2, 9), process, seen.said)
            taking_part = seats_of_last_round(run) or [0, 1, 2, 3]
            comes_to(lambda: len(ranks_of(process)) == 5, process, seen.said)
            os.kill(ranks_of(process)[chance.choice(taking_part[1:])], signal.SIGKILL)
            comes_to(lambda: len(rounds_of(run)) >= loss, process, seen.said)
        steps = stops(process, seen, rounds_of(run)[-1][0] + LAST)
    finally:
        kill(process)
    same, difference = is_alike(run, told(scratch, "whole", [*words, *sets], [], steps, {4: []}), steps)
    good = process.returncode == REQUEUE and same and all(there == 4 for _, there in rounds_of(run))
    return None if good else f"exit code {process.returncode}, rounds {rounds_of(run)}, {difference}{seen.said.so_far()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=30, help="in all")
    parser.add_argument("--kind", choices=sorted(set(KINDS)), help="lose ranks in one way only")
    parser.add_argument("--only", type=int, choices=range(len(LAYOUTS)), help="hunt on one layout, without spare ranks")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    gaps = {"behind": [], "killed": [], "stopped": [], "back": []}
    wrong = 0
    shares = [len(range(i, options.losses, len(LAYOUTS))) for i in range(len(LAYOUTS))]
    if options.only is not None:
        shares = [options.losses if i == options.only else 0 for i in range(len(LAYOUTS))]
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        shoal("prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--validation", "none", "--output", scratch / "tokens")
        for number, (share, (ranks, left, sets, sets_left, companion)) in enumerate(zip(shares, LAYOUTS)):
            if share == 0:
                continue
            words = [f"data.sources=[{scratch / 'tokens'}]", *COMMON]
            run = Run(scratch, f"struck{number}", *words, *sets, "train.save_every=0", "comm.lost_rank=go_on", ranks=ranks,
                      launch=("--max-restarts", "1000"))
            process = run.start()
            seen = Seen(run, process)
            lost_steps = behind = 0
            try:
                for loss in range(1, share + 1):
                    comes_to(lambda: seen.last() > (rounds_of(run)[-1][0] if loss > 1 else 0) + chance.randint(1, 8), process, seen.said)
                    time.sleep(chance.random() * 0.03)  # anywhere in a step
                    before = seen.last()
                    pid, kind, moment = lose(options.kind or KINDS[(loss - 1) % len(KINDS)], process, seats_of_last_round(run) or range(ranks),
                                     companion, chance)
                    behind += kind == "behind"
                    comes_to(lambda: len(rounds_of(run)) >= 2 * loss - 1, process, seen.said)
                    if kind == "stopped":
                        os.kill(pid, signal.SIGCONT)
                    comes_to(lambda: len(rounds_of(run)) >= 2 * loss, process, seen.said)
                    gone, back = rounds_of(run)[2 * loss - 2:2 * loss]
                    lost_steps += max(0, before - gone[0])
                    comes_to(lambda: seen.last() > back[0], process, seen.said)
                    gaps[kind].append(seen.after(gone[0]) - moment)
                    gaps["back"].append(seen.gap_at(back[0]))
                steps = stops(process, seen, rounds_of(run)[-1][0] + LAST)
            finally:
                kill(process)
            changes = rounds_of(run)
            shape = all(there == (left if i % 2 == 0 else ranks) for i, (_, there) in enumerate(changes))
            same, difference = is_alike(run, told(scratch, f"told{number}", words, changes, steps, {ranks: sets, left: sets_left}), steps)
            given = seen.said.so_far().count("takes the state")
            good = process.returncode == REQUEUE and same and shape and lost_steps == 0 and len(changes) == 2 * share and given >= behind
            wrong += not good
            print(f"{'ok' if good else 'FAILED'}: {ranks} ranks, {' '.join(sets)}: {share} losses and returns in {steps} steps; "
                  f"rank 0 was behind {given} times", flush=True)
            if not good:
                print(f"exit code {process.returncode}, rounds {changes}, steps lost {lost_steps}, {difference}{seen.said.so_far()}")
        if options.only is None:
            problem = takes_over(scratch, [f"data.sources=[{scratch / 'tokens'}]", *COMMON], max(1, options.losses // 8), chance)
            print(problem or "ok: spare ranks take over", flush=True)
            wrong += problem is not None
    print(f"without steps: after a kill {summary(gaps['killed'])}; after one that left rank 0 behind {summary(gaps['behind'])}; after a rank fell "
          f"silent {summary(gaps['stopped'])}, of which {SILENCE} s are silence; when the replica returned {summary(gaps['back'])}")
    if NIGHTLY:
        worst = max([*gaps["behind"], *gaps["killed"], *gaps["back"], *(gap - SILENCE - 2 * BEAT for gap in gaps["stopped"])]) / DEADLINE
        print(f"at most {worst:.2f} of the deadline beside the silence, {MOST_OF_DEADLINE} are allowed")
        wrong += worst > MOST_OF_DEADLINE
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
