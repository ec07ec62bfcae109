#!/usr/bin/env python3
"""Every wrong invocation of shoal ends with a documented exit code and one message that says what is wrong and what to do.

wrong_invocations.txt has the cases: an exit code and a command for bash, and below it a regular expression that standard error has to match.
Each command runs in a directory of broken files that `Broken` makes once; $out is a directory of its own that does not exist yet.
"""
import collections
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from training_runs import BINARY, documents, share_of, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
TABLE = pathlib.Path(__file__).with_name("wrong_invocations.txt")

LIMIT_S = 60  # for one command that only has to refuse: what takes so long hangs
MOST_LINES = 10  # four problems of a config, two lines each
FEWEST_CASES = 85
DOCUMENTED = {2, 3, 16, 75}  # those of README.md that a wrong invocation may end with
COMMANDS = ("doctor", "config", "launch", "tokenizer", "prepare", "train", "generate", "eval", "verify", "plan", "plan search", "plan counts",
            "plan program", "plan check", "plan validate", "schedule", "checkpoint inspect", "checkpoint verify", "checkpoint diff",
            "checkpoint prune", "checkpoint export", "checkpoint import", "bench tokenizer", "bench loader", "bench comm", "bench gemm",
            "bench memory")

# What a library or the runtime says when nobody has caught it, and how the parser of command lines calls things.
INTERNAL = re.compile(r"terminate called|what\(\)|Exception raised from|std::|c10::|CLI::|at::Tensor|Traceback|Aborted|Segmentation|core dumped|"
                      r"^bug: |Could not convert|The following arguments? w|required but received|\d required \w+ missing|basic_string|bad_alloc", re.M)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
# Variables by which a launcher tells a process its rank: the cases set their own.
LAUNCHERS = re.compile(r"(SLURM|OMPI|PMI|PMIX|PALS|MPI|SHOAL)_|(LOCAL_|GROUP_)?(RANK|WORLD_SIZE)$|MASTER_(ADDR|PORT)$")

Case = collections.namedtuple("Case", "line code command says")


def read_cases():
    """The cases of the table: `CODE COMMAND`, then an indented regular expression. # begins a comment."""
    cases, head = [], None
    for number, text in enumerate(TABLE.read_text().splitlines(), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        if text.startswith(" "):
            assert head, f"{TABLE.name}:{number}: an expression without a command"
            cases.append(Case(*head, re.compile(text.strip(), re.M)))
            head = None
        else:
            assert not head, f"{TABLE.name}:{number}: the command before has no expression"
            code, command = text.split(maxsplit=1)
            head = (number, int(code), command)
    assert not head, f"{TABLE.name} ends with a command that has no expression"
    return cases


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def is_utf8(content):
    try:
        return content.decode() is not None
    except UnicodeDecodeError:
        return False


class Broken:
    """A directory of files and directories, of which good.yaml, plan.yaml, text.txt, tokens, runs/tiny and hf are whole."""

    def __init__(self, directory):
        self.directory = directory
        self.write_plain()
        self.write_configs()
        self.write_lines()
        self.write_schedules()
        self.write_tokens()
        self.write_run()
        self.write_models()

    def write(self, name, content):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)

    def copy(self, whole, name):
        shutil.copytree(self.directory / whole, self.directory / name)
        return self.directory / name

    def write_plain(self):
        noise = bytes((167 * at * at + 13 * at + 224) % 256 for at in range(3000))
        self.write("text.txt", documents(seed=3))
        for name in ("empty", "empty.txt", "empty.jsonl", "empty.parquet"):
            self.write(name, b"")
        for name in ("binary", "binary.json", "binary.parquet", "binary.arrow", "binary.jsonl.gz", "binary.jsonl.zst", "binary.npy", "binary.idx",
                     "binary.tiktoken", "tables/binary.csv"):
            self.write(name, noise)
        for name in ("directory", "directory.txt", "directory.json", "no_tables"):
            (self.directory / name).mkdir()

    def write_configs(self):
        self.write("good.yaml", "model: {layers: 2, heads: 4, width: 32, context: 16}\ndata: {sources: [tokens]}\n"
                                "train: {batch: 4, threads: 1, steps: 2, save_every: 1, keep: 5, background_save: false}\n")
        self.write("plan.yaml", "model: {layers: 2, heads: 4, width: 32, context: 16, vocab_size: 256}\ntrain: {batch: 4}\n")
        wrong = {"open_bracket": "model: [1, 2\n", "list": "- a\n- b\n", "word": "hello\n", "tab": "model:\n\tlayers: 2\n",
                 "twice": "model: {layers: 2}\nmodel: {layers: 3}\n", "newer": "version: 99\nfoo: 3\n",
                 "types": "model: {layers: two, width: [3], headz: 4}\noptimiser: {lr: x}\n", "alias": "train: &a {batch: 4}\ndata: *a\n",
                 "deep": "[" * 5000, "documents": "model: {layers: 2}\n---\nmodel: {layers: 3}\n", "tag": "model: !!map {layers: 2}\n",
                 "large": "a" * 2_000_000, "zero_byte": "model: {layers: 2\0}\n", "latin1": "run: {name: caf\xe9}\n".encode("latin-1"),
                 "utf16": "run: {name: a}\n".encode("utf-16"), "cluster_nan": "device: {bf16_tflops: nan}\n", "cluster_list": "- 3\n"}
        for name, content in wrong.items():
            self.write(f"{name}.yaml", content)

    def write_lines(self):
        self.write("no.jsonl", "not json\n")
        self.write("number.jsonl", '{"text": 3}\n')
        self.write("other_field.jsonl", '{"txt": "a"}\n')
        self.write("array.jsonl", "[1, 2]\n")
        self.write("cut.jsonl", '{"text": "a\n')
        self.write("label.jsonl", '{"ctx": "a", "endings": ["b", "c"], "label": 7}\n')
        self.write("no_context.jsonl", '{"ctx": "", "endings": ["b", "c"], "label": 0}\n')
        self.write("long_ending.jsonl", '{"ctx": "a", "endings": ["b", "an ending that is too long for it"], "label": 0}\n')

    def write_schedules(self):
        self.write("hole.txt", "rank 0: F0 F1 B0\nrank 1: F0 B0 F1 B1\n")
        self.write("deadlock.txt", "rank 0: F0 B0 F1 B1\nrank 1: F1 F0 B0 B1\n")
        self.write("twice.txt", "rank 0: F0 F0 B0\n")
        self.write("one_rank.txt", "rank 0: F0 B0\n")

    def write_tokens(self):
        shoal("prepare", "--input", "text.txt", "--tokenizer", "byte", "--output", "tokens", "--separator", r"\n\n", cwd=self.directory)
        shoal("prepare", "--input", "text.txt", "--tokenizer", "byte", "--output", "all_train", "--validation", "none", cwd=self.directory)
        self.copy("tokens", "tokens_empty_manifest").joinpath("manifest.json").write_text("")
        self.copy("tokens", "tokens_other_manifest").joinpath("manifest.json").write_text("{}")
        shard = "train-00000.arrow"
        os.truncate(self.copy("tokens", "tokens_short") / shard, 2000)
        (self.copy("tokens", "tokens_gone") / shard).unlink()
        replaced = self.copy("tokens", "tokens_directory") / shard
        replaced.unlink()
        replaced.mkdir()

    def write_run(self):
        shoal("train", "good.yaml", "--set", "run.name=tiny", cwd=self.directory)
        newest = pathlib.Path("checkpoints") / "step-000000002"
        part = newest / "rank-00000-00000.safetensors"
        flip_a_bit(self.copy("runs/tiny", "flipped") / part)
        os.truncate(self.copy("runs/tiny", "short") / part, 1000)
        (self.copy("runs/tiny", "gone") / part).unlink()
        self.copy("runs/tiny", "other_manifest").joinpath(newest, "manifest.json").write_text("{}")
        for manifest in self.copy("runs/tiny", "torn").glob("checkpoints/*/manifest.json"):
            manifest.write_text("")

    def write_models(self):
        shoal("checkpoint", "export", "runs/tiny", "--output", "hf", cwd=self.directory)
        config = (self.directory / "hf" / "config.json").read_text()
        for name, changed in {"empty": "", "object": "{}", "array": "[]", "family": '{"model_type": "mamba"}',
                              "layers": config.replace('"n_layer": 2', '"n_layer": 3')}.items():
            self.copy("hf", f"hf_{name}").joinpath("config.json").write_text(changed)
        (self.copy("hf", "hf_no_weights") / "model.safetensors").unlink()
        self.copy("hf", "hf_binary").joinpath("model.safetensors").write_bytes((self.directory / "binary").read_bytes())
        os.truncate(self.copy("hf", "hf_short") / "model.safetensors", 5000)


class WrongInvocations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="wrong-"))
        cls.fixture = cls.scratch / "fixture"
        cls.fixture.mkdir()
        Broken(cls.fixture)
        cls.busy = socket.create_server(("127.0.0.1", 0))
        cls.environment = {name: value for name, value in os.environ.items() if not LAUNCHERS.match(name)}
        cls.environment.update(PATH=f"{BINARY}:{os.environ['PATH']}", LC_ALL="C.UTF-8", source=str(SOURCE), busy=str(cls.busy.getsockname()[1]))

    @classmethod
    def tearDownClass(cls):
        cls.busy.close()
        shutil.rmtree(cls.scratch)

    def run_case(self, case):
        """The exit code, and what it says on standard error."""
        environment = dict(self.environment, out=str(self.scratch / f"out-{case.line}"))
        process = subprocess.Popen(["bash", "-c", case.command], cwd=self.fixture, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        try:
            _, said = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # and the ranks that it has started
            process.communicate()
            self.fail(f"{TABLE.name}:{case.line}: {case.command} takes more than {LIMIT_S} s")
        return process.returncode, said

    def check(self, case):
        code, said = self.run_case(case)
        shown = f"\n{TABLE.name}:{case.line}: {case.command}\nexit code {code}, and on standard error:\n{said.decode(errors='backslashreplace')}"
        self.assertEqual(code, case.code, shown)
        self.assertTrue(is_utf8(said), shown)  # a terminal gets whole characters, whatever was in a file
        text = said.decode()
        self.assertIsNone(CONTROL.search(text), shown)
        self.assertIsNone(INTERNAL.search(text), shown)
        self.assertRegex(text, case.says, shown)
        lines = text.splitlines()
        self.assertLessEqual(len(lines), MOST_LINES, shown)
        errors = sum(line.startswith("error: ") for line in lines)
        if "shoal launch" in case.command:
            self.assertTrue(errors or lines[-1].startswith("launch: "), shown)
        else:
            self.assertEqual(errors, 1, shown)

    def test_each_is_refused_with_one_message(self):
        for case in share_of(read_cases()):
            with self.subTest(case.command):
                self.check(case)


class Table(unittest.TestCase):
    def test_it_covers_every_command(self):
        cases = read_cases()
        self.assertGreaterEqual(len({case.command for case in cases}), FEWEST_CASES)
        self.assertEqual(len({case.command for case in cases}), len(cases), "a command is there twice")
        for command in COMMANDS:
            self.assertTrue(any(re.search(rf"shoal {command}\b", case.command) for case in cases), command)
        for case in cases:
            self.assertIn(case.code, DOCUMENTED, case.command)
            self.assertIsNone(case.says.search(""), f"the expression of {case.command} matches nothing at all")


if __name__ == "__main__":
    unittest.main()
