"""What tests of runs that something goes wrong with share: a small model, its data, and ranks without a launcher."""
import pathlib
import shutil
import socket
import tempfile
import unittest

from training_runs import Run, documents, kill, shoal

# Odd sizes throughout: 7 x 17 tokens, 3 heads of 10.
MODEL = ["model.layers=2", "model.heads=3", "model.width=30", "model.context=17"]
TRAINING = ["train.batch=7", "train.threads=1", "train.eval_every=0", "train.save_every=0",
            "optimizer.lr=3e-3", "optimizer.warmup=3", "optimizer.lr_schedule=constant"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment_of_rank(rank, ranks, port=None):
    """As torchrun gives it, with every rank on a host of its own."""
    variables = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": 1, "LOCAL_RANK": 0, "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": port or free_port()}
    return {name: str(value) for name, value in variables.items()}


class SmallRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
        for name, seed, validation in (("tokens", 5, "hash:0.2"), ("others", 6, "hash:0.3"), ("unjudged", 7, "none")):
            cls.prepare(name, documents(seed), validation)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def prepare(cls, name, text, validation):
        (cls.scratch / f"{name}.txt").write_text(text)
        shoal("prepare", "--input", cls.scratch / f"{name}.txt", "--tokenizer", "byte", "--separator", r"\n\n",
              "--validation", validation, "--output", cls.scratch / name)

    def run_of(self, name, *sets, ranks=1, sources=("tokens",), launch=(), before=()):
        paths = ",".join(str(self.scratch / source) for source in sources)
        return Run(self.scratch, name, f"data.sources=[{paths}]", *MODEL, *TRAINING, *sets, ranks=ranks, launch=launch, before=before)

    def started(self, run, step):
        """The process of a run that has come to that step."""
        process = run.start()
        self.addCleanup(kill, process)
        if not run.reaches(step, process):
            self.fail(f"{run.directory.name} has ended before step {step}: {process.stderr.read()}")
        return process

    def column(self, run, name):
        return [float(row[name]) for row in run.rows() if row[name]]
