"""What scripts that start, disturb and compare runs of `shoal train` share."""
import csv
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shards import load_tests, share_of  # noqa: E402, F401: for the scripts beside this one

BINARY = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]).resolve()
SHOAL = str(BINARY / "shoal")

# Times are compared in the nightly run alone, and as ratios: other processes use the machine of the gate.
NIGHTLY = "SHOAL_NIGHTLY" in os.environ
SEED = int(os.environ.get("SHOAL_SEED", "1"))  # of random cases: .ci/run takes it from the sources

# For one command, or for the next step of a run, whatever else the machine does: only what hangs takes so long.
PATIENCE = 240
REQUEUE = 75  # exit code of a run that was told to stop and has saved, or has lost a peer: the same command goes on with it

# A run that is disturbed is told to stop when enough was seen of it: a number of steps that is set before is too small on one
# machine and takes minutes on another.
ENDLESS = "train.steps=1000000"
SAVES_EVERY_STEP = ["train.save_every=1", "train.keep=100000", "train.background_save=false"]


def shoal(*words, code=0, **more):
    done = subprocess.run([SHOAL, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, **more)
    assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {done.stderr}\n{done.stdout}"
    return done


def documents(seed):
    """Text with little in it to learn, so that a few steps show whether a model does."""
    generator = random.Random(seed)
    words = ["sea", "shoal", "fish", "of", "the", "a", "swims", "in", "deep", "water"]
    return "\n\n".join(" ".join(generator.choices(words, k=generator.randrange(3, 40))) for _ in range(400))


def rows_of(directory):
    """The records of a run so far."""
    path = directory / "metrics.csv"
    if not path.exists():
        return []
    # In one read: a run that goes on cuts the file back to the step it begins after.
    whole_lines, _, _ = path.read_text().rpartition("\n")
    return list(csv.DictReader(whole_lines.splitlines()))


def last_step_of(directory):
    """The last step in the records so far; 0 without one. Reads the end of the file only: it is asked for every few milliseconds."""
    path = directory / "metrics.csv"
    if not path.exists():
        return 0
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 4096))
        whole_lines, _, _ = file.read().rpartition(b"\n")
    step = whole_lines.rpartition(b"\n")[2].partition(b",")[0]
    return int(step) if step.isdigit() else 0  # the header is the last line as long as there are no records


def figures_of(directory):
    """Step -> what the arithmetic decides, and no clock."""
    return {int(row["step"]): tuple(row[key] for key in ("tokens", "loss", "val_loss", "lr", "grad_norm", "skipped_steps"))
            for row in rows_of(directory)}


class Run:
    """A run in `scratch`/runs, by one process or by the ranks of a launcher. Each command that is started goes on with it."""

    def __init__(self, scratch, name, *sets, ranks=1, before=(), launch=()):
        """`before`: words before the command, of a program that runs it. `launch`: more words for the launcher."""
        self.directory = scratch / "runs" / name
        launcher = ["launch", "--ranks", str(ranks), *launch, "--"] if ranks > 1 else []
        words = [f"run.directory={scratch / 'runs'}", f"run.name={name}", "train.init_from=resume", *sets]
        self.command = [*before, SHOAL, *launcher, "train", *(word for text in words for word in ("--set", text))]

    def start(self, env=None):
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, env=env)

    def finish(self, code=0):
        """What it says on standard error."""
        return end_of(self.start(), code)

    def rows(self):
        return rows_of(self.directory)

    def last_step(self):
        return last_step_of(self.directory)

    def figures(self):
        return figures_of(self.directory)

    def reaches(self, step, process):
        """Waits until the run has written that step. False: it has ended."""
        seen, since = None, time.monotonic()
        while process.poll() is None:
            now = self.last_step()
            if now >= step:
                return True
            if now != seen:
                seen, since = now, time.monotonic()
            assert time.monotonic() < since + PATIENCE, f"{self.directory.name} stays at step {now} for {PATIENCE} s, and should come to {step}"
            time.sleep(0.005)
        return False


def forget_after(run, step):
    """Removes what a run has saved after that step, unfinished saves too: it goes on from there."""
    for path in run.directory.glob("checkpoints/step-*"):
        if not path.name[5:].isdigit() or int(path.name[5:]) > step:
            shutil.rmtree(path)


def stop(run, process):
    """Tells a run to stop. Its last step, which it has saved."""
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE)
    return run.last_step()


def goes_until(run, step):
    """Starts a run that saves every step, and leaves it as it was after that one."""
    process = run.start()
    assert run.reaches(step + 1, process), f"{run.directory.name} ended before step {step + 1}: {process.stderr.read()}"
    kill(process)
    forget_after(run, step)
    assert (run.directory / "checkpoints" / f"step-{step:09d}").exists(), f"{run.directory.name}: no checkpoint of step {step}"


def ranks_of(launcher):
    """Rank -> process."""
    found = {}
    for pid in pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split():
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        found[next(int(text.removeprefix("SHOAL_RANK=")) for text in variables if text.startswith("SHOAL_RANK="))] = int(pid)
    return found


def end_of(process, code=0):
    try:
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        kill(process)
    assert process.returncode == code, f"{process.args}: exit {process.returncode}, not {code}: {said}"
    return said


def kill(process):
    """A process that is still there, with its ranks: the kernel kills those of a launcher that is gone."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stderr.close()


def is_alike(run, twin, steps):
    """Whether a run of so many steps and its twin, which may have done more, have the same figures and tensors, to the bit; and what differs."""
    ours, theirs = run.figures(), twin.figures()
    other = [step for step in range(1, steps + 1) if step not in ours or ours[step] != theirs.get(step)]
    _, shown = equal_checkpoints(run.directory, twin.directory)
    same = len(ours) == steps and not other and "tensors that differ 0;" in shown
    return same, f"{len(ours)} of {steps} steps, other figures at {other[:9]}\n{shown}"


def equal_checkpoints(first, second):
    """Whether the newest checkpoints of two runs have the same values, to the bit; the runs' names are all that may differ."""
    done = subprocess.run([SHOAL, "checkpoint", "diff", first, second], capture_output=True, text=True, timeout=PATIENCE)
    same = "values that differ  1\n" in done.stdout and "tensors that differ 0;" in done.stdout
    return same, done.stdout + done.stderr
