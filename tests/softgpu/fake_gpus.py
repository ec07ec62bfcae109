"""What the scripts here share: commands of shoal on fake GPUs, and what the bed says of them."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import training_runs  # noqa: E402

SHOAL = training_runs.SHOAL
PATIENCE = training_runs.PATIENCE


def on_gpus(devices, *options):
    """The words before a command that give each of its processes that many fake GPUs. A race ends the process."""
    return [os.environ["SOFTCUDA"], "--devices", str(devices), "--races", "abort", *map(str, options), "--"]


def launched(ranks):
    return [SHOAL, "launch", "--ranks", str(ranks), "--"] if ranks > 1 else [SHOAL]


def complaints(text):
    """The lines of the bed: a race, a kernel that was really launched, memory that nobody may touch, a mismatch."""
    return [line for line in text.splitlines() if "softcuda: " in line]


def run(words, code=0, **more):
    """A command that ends with that code and of which the bed has nothing to say."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE, env=environment)
    said = done.stdout + done.stderr
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert not complaints(said), f"{words}: {complaints(said)[:3] + errors[:3]}"
    assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {said}"
    return done
