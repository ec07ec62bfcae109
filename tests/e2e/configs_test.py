#!/usr/bin/env python3
"""Every file in configs/ loads, plans on the ranks that its own degrees ask for, and has the parameters of the model it is named after."""
import json
import math
import os
import pathlib
import unittest

import yaml

from training_runs import shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
FILES = sorted((SOURCE / "configs").glob("*.yaml"))
CLUSTER = SOURCE / "clusters" / "h100.yaml"
A_NODE = 8  # of that cluster

# Files whose vocabulary is the data's: how much their data have.
VOCABULARIES = {
    "debug_cpu": 257,  # bytes
    "shakespeare": 257,
    "small_job": 172,  # words of tools/make_small_corpus.py
}


def gpt(layers, width, context, vocabulary):
    """A GPT-2 with a tied head, as Narayanan et al. count it (arXiv 2104.04473, equation 2)."""
    return layers * (12 * width**2 + 13 * width) + (vocabulary + context) * width + 2 * width


# What a file's model has, and who says so. "Hub" is the number of parameters that Hugging Face's hub shows for the repository.
PARAMETERS = {
    "debug_cpu": (gpt(2, 64, 64, 257), "formula of GPT-2"),
    "flagship": (gpt(6, 384, 128, 2048), "formula of GPT-2"),
    "gpt2_124m": (124_439_808, "Hub, openai-community/gpt2, without the buffers of its attention"),
    "llama3_405b": (405_853_388_800, "Hub, meta-llama/Llama-3.1-405B"),
    "llama3_70b": (70_553_706_496, "Hub, meta-llama/Meta-Llama-3-70B"),
    "llama3_8b": (8_030_261_248, "Hub, meta-llama/Meta-Llama-3-8B"),
    "olmo2_1b": (1_484_916_736, "Hub, allenai/OLMo-2-0425-1B"),
    "olmo_1b_ddp": (1_176_764_416 - (50_304 - 32_100) * 2048, "Hub, allenai/OLMo-1B-hf, less the rows of its larger vocabulary"),
    "olmo_70b": (80 * (4 * 8192**2 + 3 * 8192 * 22_016) + 2 * 50_280 * 8192, "matrices of OLMo's blocks, embedding, head"),
    "olmo_7b_fsdp": (6_888_095_744 - 2 * (50_304 - 32_100) * 4096, "Hub, allenai/OLMo-7B-hf, less the rows of its larger vocabulary"),
    "qwen3_0.6b": (596_049_920, "Hub, Qwen/Qwen3-0.6B, its tied head once"),
    "reference_gpt": (gpt(12, 768, 512, 50_257), "formula of GPT-2"),
    "shakespeare": (gpt(4, 128, 64, 257) - 4 * 11 * 128 - 128, "formula of GPT-2, less the biases"),
    "shakespeare_gpt": (gpt(12, 768, 256, 65), "formula of GPT-2"),
    "small_job": (gpt(6, 384, 256, 172), "formula of GPT-2"),
}

# The same by the formula of courses, N (12 D^2 + 10 D) + D (V + T) + 2 D + V (D + 1). Courses print the second as 6.715 * 10^9.
OF_COURSES = {"olmo_1b_ddp": 941_346_148, "olmo_7b_fsdp": 6_715_153_764, "olmo_70b": 65_288_471_656}


def ranks_of(parallel):
    """The numbers of ranks to plan a section `parallel` for: the product of its degrees, or several when a degree is auto."""
    others = math.prod(parallel.get(axis, 1) for axis in ("dp_replicate", "cp", "pp", "tp"))
    shards = parallel.get("dp_shard", "auto")
    return [others, others * A_NODE] if shards == "auto" else [others * shards]


def vocabulary_of(path):
    """Words that tell the planner a vocabulary where the file leaves it to the data."""
    if yaml.safe_load(path.read_text())["model"].get("vocab_size", "auto") != "auto":
        return []
    assert path.stem in VOCABULARIES, (f"{path.name} leaves model.vocab_size to its data, but the planner has none: "
                                       f"add how much they have to VOCABULARIES in {pathlib.Path(__file__).name}")
    return ["--set", f"model.vocab_size={VOCABULARIES[path.stem]}"]


def read(*words):
    return json.loads(shoal(*words, "--json").stdout)


class Configs(unittest.TestCase):
    def test_each_loads(self):
        for path in FILES:
            with self.subTest(path.name):
                shoal("config", "check", path, "--ranks", ranks_of(yaml.safe_load(path.read_text()).get("parallel", {}))[0])

    def test_each_is_named_after_its_run(self):
        for path in FILES:
            with self.subTest(path.name):
                self.assertEqual(yaml.safe_load(path.read_text())["run"]["name"], path.stem, "two files must not share a run's directory")

    def test_each_plans_on_its_ranks(self):
        memory = yaml.safe_load(CLUSTER.read_text())["device"]["memory_gb"] * 1e9
        for path in FILES:
            parallel = yaml.safe_load(path.read_text()).get("parallel", {})
            for ranks in ranks_of(parallel):
                with self.subTest(path.name, ranks=ranks):
                    found = read("plan", path, "--ranks", ranks, "--cluster", CLUSTER, *vocabulary_of(path))
                    self.assertRegex(found["layout"]["mesh"], f" = {ranks} ranks?$")
                    self.assertGreater(found["memory"]["peak_bytes"], 0)
                    self.assertGreater(found["step"]["seconds"], 0)
                    if parallel.get("dp_shard", "auto") != "auto":
                        self.assertLessEqual(found["device"]["total_bytes"], memory,
                                             f"the layout of {path.name} does not fit {CLUSTER.name}: `shoal plan search` finds one that does")

    def test_each_has_the_parameters_of_its_name(self):
        for path in FILES:
            with self.subTest(path.name):
                if path.stem not in PARAMETERS:
                    self.fail(f"{path.name} is new: add what its model has, and who says so, to PARAMETERS in {pathlib.Path(__file__).name} "
                              "(`shoal plan counts` prints what shoal counts)")
                expected, source = PARAMETERS[path.stem]
                ranks = ranks_of(yaml.safe_load(path.read_text()).get("parallel", {}))[0]
                found = read("plan", "counts", path, "--ranks", ranks, *vocabulary_of(path))
                self.assertEqual(found["parameters"], expected, source)
                if path.stem in OF_COURSES:
                    self.assertEqual(found["course"]["parameters"], OF_COURSES[path.stem])

    def test_no_entry_is_left_of_a_file_that_is_gone(self):
        names = {path.stem for path in FILES}
        for table in (PARAMETERS, VOCABULARIES, OF_COURSES):
            self.assertLessEqual(set(table), names)


if __name__ == "__main__":
    unittest.main()
