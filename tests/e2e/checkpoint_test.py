#!/usr/bin/env python3
"""shoal checkpoint from the outside, without torch: to and from transformers' own files, differences, pruning, and what is said
about files that are wrong."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from safetensors_file import change_number

BINARY = pathlib.Path(os.environ["SHOAL_BINARY_DIR"])
MODELS = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]) / "tests" / "golden" / "models"
FAMILIES = ("gpt2", "llama", "llama3", "llama_sharded", "olmo", "olmo2", "qwen2", "qwen3")
STEP_0 = pathlib.Path("checkpoints") / "step-000000000"


def checkpoint(*words, code=0, cwd=None):
    done = subprocess.run([BINARY / "shoal", "checkpoint", *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {done.stderr}\n{done.stdout}"
    return done.stdout if code in (0, 1) else done.stderr


def make_checkpoints(run, *steps):
    subprocess.run([BINARY / "tests" / "state" / "make_checkpoints", run / "checkpoints", *map(str, steps)], check=True)


def steps_in(run):
    return sorted(int(path.name[5:]) for path in (run / "checkpoints").glob("step-*"))


def zeros(path, tensors):
    """A safetensors file of zeros that takes no room on the disk."""
    header, end = {}, 0
    for name, shape in sorted(tensors.items()):
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


class Command(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="checkpoint-"))
        self.run = self.scratch / "run"

    def tearDown(self):
        shutil.rmtree(self.scratch)

    def imported(self, family="llama", name="run"):
        checkpoint("import", MODELS / family, "--output", self.scratch / name)
        return self.scratch / name


class HuggingFace(Command):
    def test_files_of_transformers_come_back_byte_by_byte(self):
        for family in FAMILIES:
            with self.subTest(family):
                run = self.imported(family, family)
                out = self.scratch / f"{family}-hf"
                said = checkpoint("export", run, "--output", out)
                self.assertRegex(said, r"^[0-9]+ parameters written to ")
                original = MODELS / family.replace("_sharded", "") / "model.safetensors"
                self.assertEqual((out / "model.safetensors").read_bytes(), original.read_bytes())
                checkpoint("diff", run, self.imported(family, f"{family}-again"))
                # An export goes on to another one, without a run in between.
                checkpoint("export", MODELS / family, "--output", self.scratch / f"{family}-direct")
                for file in ("model.safetensors", "config.json"):
                    self.assertEqual((out / file).read_bytes(), (self.scratch / f"{family}-direct" / file).read_bytes())

    def test_types_and_sizes_of_files(self):
        run = self.imported()
        sizes = {}
        for dtype in ("fp32", "bf16", "fp16"):
            checkpoint("export", run / STEP_0, "--output", self.scratch / dtype, "--dtype", dtype, "--max-file-megabytes", 1)
            sizes[dtype] = (self.scratch / dtype / "model.safetensors").stat().st_size
        self.assertLess(max(sizes["bf16"], sizes["fp16"]), sizes["fp32"] * 0.53)
        self.assertEqual(json.loads((self.scratch / "bf16" / "config.json").read_text())["dtype"], "bfloat16")
        self.assertIn("--dtype is 'int8'", checkpoint("export", run, "--output", self.scratch / "x", "--dtype", "int8", code=2))
        self.assertFalse((self.scratch / "x").exists())

    def test_tokenizers_go_along(self):
        model = self.scratch / "model"
        shutil.copytree(MODELS / "gpt2", model)
        (model / "tokenizer.json").write_text('{"a": "tokenizer"}')
        checkpoint("import", model, "--output", self.run)
        # Also for a path that begins in the run, or ends with a slash.
        for i, (path, cwd) in enumerate(((self.run, None), (str(self.run / STEP_0) + "/", None), (".", self.run / STEP_0))):
            checkpoint("export", path, "--output", self.scratch / f"out{i}", cwd=cwd)
            self.assertEqual((self.scratch / f"out{i}" / "tokenizer.json").read_text(), '{"a": "tokenizer"}')

    def test_what_cannot_be_imported_leaves_nothing(self):
        self.assertIn("is no Hugging Face directory: there is no config.json", checkpoint("import", self.scratch, "--output", self.run, code=2))
        model = self.scratch / "model"
        shutil.copytree(MODELS / "llama", model)
        config = json.loads((model / "config.json").read_text())
        for changed, said in (({"num_hidden_layers": 4}, "has no tensor"), ({"num_hidden_layers": 2}, "no place for"),
                              ({"intermediate_size": 57}, "but the model's is"), ({"rms_norm_eps": 7}, "model.norm_epsilon"),
                              ({"model_type": "mamba"}, "mamba"), ({"vocab_size": 1 << 31, "hidden_size": 1 << 31}, "config.json")):
            (model / "config.json").write_text(json.dumps({**config, **changed}))
            self.assertIn(said, checkpoint("import", model, "--output", self.run, code=3))
        (model / "config.json").write_text(json.dumps(config))
        size = (model / "model.safetensors").stat().st_size
        os.truncate(model / "model.safetensors", size - 1)
        self.assertIn("model/model.safetensors", checkpoint("import", model, "--output", self.run, code=3))
        self.assertFalse(self.run.exists())
        self.imported()
        self.assertIn("a run that has checkpoints", checkpoint("import", MODELS / "llama", "--output", self.run, code=2))

    def test_what_cannot_be_exported(self):
        out = self.scratch / "out"
        self.assertIn("no such directory", checkpoint("export", self.scratch / "none", "--output", out, code=2))
        self.assertIn("neither a config.json nor a checkpoint", checkpoint("export", self.scratch, "--output", out, code=2))
        make_checkpoints(self.run, 1)
        self.assertIn("does not hold a config", checkpoint("export", self.run, "--output", out, code=3))
        self.assertFalse(out.exists())
        model = self.scratch / "model"
        shutil.copytree(MODELS / "llama", model)
        self.assertIn("which is what is read", checkpoint("export", model, "--output", model, code=2))
        self.assertIn("is no directory", checkpoint("export", model, "--output", model / "config.json", code=2))


class Looking(Command):
    def test_inspect(self):
        run = self.imported()
        shown = checkpoint("inspect", run)
        self.assertRegex(shown, r"(?m)^  step +0$")
        self.assertRegex(shown, r"(?m)^  weights.blocks.N.attention.qkv.weight +3 x F32 \[64, 32\]$")
        self.assertRegex(shown, r"(?m)^  weights.head.norm.weight +F32 \[32\]$")
        self.assertRegex(shown, r"(?m)^  config +[0-9]+ lines; --value config prints them$")
        self.assertNotIn("blocks.2.", shown)
        self.assertIn("weights.blocks.2.mlp.down.weight", checkpoint("inspect", run, "--tensors"))
        config = checkpoint("inspect", run, "--value", "config")
        self.assertIn("\n  layers: 3\n", config)
        self.assertEqual(json.loads(checkpoint("inspect", run / STEP_0, "--json"))["values"]["config"], config)
        self.assertIn("has no value 'x'", checkpoint("inspect", run, "--value", "x", code=2))

    def test_verify(self):
        run = self.imported()
        self.assertEqual(json.loads(checkpoint("verify", run, "--json"))["verified"]["tensors"], 21)

    def test_a_terminal_gets_nothing_to_obey(self):
        make_checkpoints(self.run, "7\x1b[2J", 8)
        shown = checkpoint("inspect", self.run / "checkpoints" / "step-000000007")
        shown += checkpoint("diff", self.run / "checkpoints" / "step-000000007", self.run, code=1)
        self.assertIn("\\x1b[2J", shown)
        self.assertNotIn("\x1b", shown)

    def test_paths_that_are_no_checkpoint(self):
        (self.scratch / "loop").symlink_to("loop")
        for path in (self.scratch, self.scratch / "none", self.scratch / "loop", "x" * 5000):
            for words in (("inspect", path), ("verify", path), ("diff", path, path)):
                self.assertIn("is neither a checkpoint nor a run with one", checkpoint(*words, code=2))
            self.assertIn("is no run with checkpoints", checkpoint("prune", path, "--keep", 1, code=2))

    def test_files_that_are_wrong_are_named(self):
        whole = self.imported(name="whole") / STEP_0
        data = next(path.name for path in whole.iterdir() if path.suffix == ".safetensors")

        def damaged(name, damage):
            shutil.rmtree(self.scratch / "wrong", ignore_errors=True)
            shutil.copytree(whole, self.scratch / "wrong")
            damage(self.scratch / "wrong" / name)
            return name, self.scratch / "wrong"

        def flip(path):
            content = bytearray(path.read_bytes())
            content[-5] ^= 4
            path.write_bytes(content)

        def link(path):
            path.rename(path.with_suffix(".away"))
            path.symlink_to(path.with_suffix(".away"))

        def directory(path):
            path.unlink()
            path.mkdir()

        def pipe(path):
            path.unlink()
            os.mkfifo(path)

        for damage in (lambda path: os.truncate(path, 100), lambda path: os.truncate(path, 0), lambda path: path.unlink(), link, directory, pipe):
            name, path = damaged(data, damage)
            for words in (("inspect", path), ("verify", path), ("diff", path, whole), ("diff", whole, path),
                          ("export", path, "--output", self.scratch / "out")):
                self.assertIn(f"wrong/{name}", checkpoint(*words, code=3))
        name, path = damaged(data, flip)
        for words in (("verify", path), ("diff", whole, path), ("export", path, "--output", self.scratch / "out")):
            self.assertIn(f"wrong/{name} is damaged", checkpoint(*words, code=3))
        self.assertFalse([path for path in (self.scratch / "out").iterdir() if path.name != "config.json"])
        for damage in (lambda path: os.truncate(path, 100), lambda path: os.truncate(path, 0), flip, directory, pipe):
            name, path = damaged("manifest.json", damage)
            self.assertIn("wrong/manifest.json", checkpoint("inspect", path, code=3))


class Difference(Command):
    def test_of_two_models(self):
        first, second = self.imported("llama", "first"), self.imported("qwen3", "second")
        self.assertRegex(checkpoint("diff", first, first), r"(?m)^  equal +yes$")
        shown = checkpoint("diff", first, second, code=1)
        self.assertRegex(shown, r"(?m)^  config.model.qk_norm +none is head$")
        self.assertRegex(shown, r"(?m)^  weights.blocks.0.attention.k_norm.weight +only in the second: F32 \[[0-9]+\]$")
        self.assertRegex(shown, r"(?m)^  equal +no$")
        found = json.loads(checkpoint("diff", first, second, "--only", "weights.head.norm", "--json", code=1))
        self.assertNotIn("values", found)
        self.assertEqual(list(found["tensors"]), ["weights.head.norm.weight"])
        self.assertIn("neither has a tensor whose name begins so", checkpoint("diff", first, second, "--only", "wieghts", code=2))

    def test_of_one_number(self):
        model = self.scratch / "model"
        shutil.copytree(MODELS / "llama", model)
        first = self.imported(name="first")
        # Row 5, column 3, behind the 56 rows of the gate.
        before, after = change_number(model / "model.safetensors", "model.layers.1.mlp.up_proj.weight", 32 * 5 + 3, 0.25)
        checkpoint("import", model, "--output", self.run)
        found = json.loads(checkpoint("diff", first, self.run, "--json", code=1))
        self.assertEqual(found["tensors"], {"weights.blocks.1.mlp.gate_up.weight": {
            "first": "F32 [112, 32]", "second": "F32 [112, 32]", "elements": 112 * 32, "differing": 1,
            "largest difference": abs(after - before), "at": "[61, 3]", "first there": before, "second there": after}})
        self.assertRegex(checkpoint("diff", first, self.run, code=1), r"1 of 3584 differ, by at most 0\.25 at \[61, 3\]: ")

    def test_of_many_tensors_is_cut(self):
        make_checkpoints(self.run, 1, 22)
        root = self.run / "checkpoints"
        shown = checkpoint("diff", root / "step-000000001", root / "step-000000022", code=1)
        self.assertRegex(shown, r"(?m)^  step +1 is 22$")
        self.assertRegex(shown, r"(?m)^  t +U8 \[1\] is U8 \[2\]$")
        first, second = self.imported("llama", "first"), self.imported("olmo2", "second")
        self.assertRegex(checkpoint("diff", first, second, code=1), r"(?m)^  \.\.\. +[0-9]+ more; --tensors lists all$")
        self.assertNotIn("...", checkpoint("diff", first, second, "--tensors", code=1))


class Pruning(Command):
    def test_keeps_the_newest_the_multiples_and_the_best(self):
        make_checkpoints(self.run, 0, 100, 150, 200, 250, 300, 350)
        (self.run / "checkpoints" / "best.json").write_text('{"step": 150, "value": 1.5}')
        shown = checkpoint("prune", self.run, "--keep", 2, "--every", 200, "--dry-run")
        self.assertEqual(steps_in(self.run), [0, 100, 150, 200, 250, 300, 350])
        self.assertRegex(shown, r"(?m)^  step-000000100 .*would be removed$")
        self.assertRegex(shown, r"(?m)^  step-000000150 .*kept: the best$")
        self.assertRegex(shown, r"(?m)^  step-000000200 .*kept: a multiple of 200$")
        self.assertRegex(shown, r"(?m)^  step-000000300 .*kept: of the newest 2$")
        found = json.loads(checkpoint("prune", self.run, "--keep", 2, "--every", 200, "--json"))
        self.assertEqual(steps_in(self.run), [0, 150, 200, 300, 350])
        self.assertEqual(found["prune"]["removed"], 2)
        checkpoint("prune", self.run, "--keep", 1)
        self.assertEqual(steps_in(self.run), [150, 350])

    def test_removes_nothing_it_is_not_sure_of(self):
        make_checkpoints(self.run, 1, 2, 3)
        (self.run / "checkpoints" / "step-000000003" / "manifest.json").write_text("{")
        checkpoint("prune", self.run, "--keep", 1)
        self.assertEqual(steps_in(self.run), [2, 3])
        (self.run / "checkpoints" / "best.json").write_text("{")
        self.assertIn("best.json", checkpoint("prune", self.run, "--keep", 1, code=3))
        for words in (("--keep", 0), (), ("--keep", "all"), ("--keep", 1, "--every", -1)):
            checkpoint("prune", self.run, *words, code=2)
        self.assertEqual(steps_in(self.run), [2, 3])


@unittest.skipIf(os.environ.get("SHOAL_SANITIZE"), "sanitizers take memory of their own")
class Memory(Command):
    def test_does_not_grow_with_the_checkpoint(self):
        """297 MB of weights, the largest tensor 131 MB, in less than 190 MB; import has pieces of 64 MiB."""
        model = self.scratch / "model"
        model.mkdir()
        width, hidden, vocabulary = 1024, 1500, 32000
        config = json.loads((MODELS / "llama" / "config.json").read_text())
        config.update(hidden_size=width, intermediate_size=hidden, num_hidden_layers=1, vocab_size=vocabulary, num_attention_heads=16,
                      num_key_value_heads=16, head_dim=64)
        (model / "config.json").write_text(json.dumps(config))
        layer = "model.layers.0."
        zeros(model / "model.safetensors", {
            "model.embed_tokens.weight": [vocabulary, width], "lm_head.weight": [vocabulary, width], "model.norm.weight": [width],
            layer + "input_layernorm.weight": [width], layer + "post_attention_layernorm.weight": [width],
            **{f"{layer}self_attn.{name}_proj.weight": [width, width] for name in "qkvo"},
            layer + "mlp.gate_proj.weight": [hidden, width], layer + "mlp.up_proj.weight": [hidden, width],
            layer + "mlp.down_proj.weight": [width, hidden]})
        for words in (("import", model, "--output", self.run), ("inspect", self.run), ("verify", self.run), ("diff", self.run, self.run),
                      ("export", self.run, "--output", self.scratch / "out", "--dtype", "bf16"),
                      ("export", model, "--output", self.scratch / "again", "--dtype", "fp16")):
            child = subprocess.Popen([BINARY / "shoal", "checkpoint", *words], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            print(f"{words[0]}: {usage.ru_maxrss // 1024} MiB")
            self.assertEqual(child.returncode, 0)
            self.assertLess(usage.ru_maxrss, 190 * 1024)


if __name__ == "__main__":
    unittest.main()
