#!/usr/bin/env python3
"""Fails when an include crosses a layer. ARCHITECTURE.md explains the layers; this file is their one list.

A file of a module may include only its own module and those that the module's CMakeLists.txt names after MODULES; these
must stand in a lower row here. Below the torch line nothing includes torch; some libraries are confined further.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

ROWS = [  # from the ground up; modules of one row do not know each other
    ["core"],
    ["config", "bench", "metrics"],
    ["blueprint", "data", "state", "cluster"],
    ["plan", "prepare", "hugging_face"],
    ["score", "picture", "course"],
    # ---- the torch line ----
    ["model", "optim", "comm"],
    ["parallel", "feed"],
    ["checkpoint"],
    ["train", "generate"],
    ["verify"],
    ["dry_run"],
]
TORCH_FREE_ROWS = 5

# Header prefix -> where it may be included. Paths are prefixes relative to the root.
CONFINED = {
    "gloo/": ["shoal/comm/gloo/process_group.cpp"],
    "torch/csrc/distributed/c10d/ProcessGroupGloo": ["shoal/comm/gloo/process_group.cpp", "cmake/check_gloo.cpp"],
    "torch/csrc/distributed/": ["shoal/comm/", "app/engine/bench_comm.cpp", "tests/comm/", "tests/parallel/unit_group_test.cpp",
                                "cmake/check_gloo.cpp"],
    "CLI/": ["app/arguments.cpp"],
    "mpi.h": ["shoal/comm/mpi/"],
    "nccl.h": ["shoal/comm/nccl/"],
    "c10/cuda/": ["shoal/comm/nccl/"],
    "ATen/cuda/": ["shoal/comm/nccl/"],
    "torch/csrc/profiler/": ["shoal/parallel/operation_range.cpp"],
    "yaml-cpp/": ["shoal/config/yaml_reader.cpp"],
    "fmt/": ["shoal/core/format.cpp"],
    "spdlog/": ["shoal/core/log.cpp"],
    "sodium.h": ["shoal/cluster/secret.cpp", "shoal/core/digest.cpp", "shoal/data/tokenizer/read_tiktoken.cpp",
                 "shoal/data/tokenizer/writers.cpp"],
    "simdjson.h": ["shoal/core/json_fields.h", "shoal/core/json_text.cpp", "shoal/data/"],
    "arrow/": ["shoal/prepare/"],
    "parquet/": ["shoal/prepare/"],
    # What unpickles: nothing of ours reads such a file.
    "torch/serialize": [],
    "torch/csrc/api/include/torch/serialize": [],
    "torch/csrc/jit/": [],
    "torch/script.h": [],
    "caffe2/serialize/": [],
    "torch/torch.h": [],  # 24 s and 1.4 GB per file: always a narrower header
}
TORCH = ("torch/", "ATen/", "c10/")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)


def row_of(module):
    for index, row in enumerate(ROWS):
        if module in row:
            return index
    return None


def modules_of(module):
    """What the module's CMakeLists.txt allows it to use."""
    text = (ROOT / "shoal" / module / "CMakeLists.txt").read_text()
    found = re.search(r"\bMODULES\s+([a-z_\s]+?)\s*(?:PUBLIC|PRIVATE|SOURCES|\))", text)
    return set(found.group(1).split()) if found else set()


# A project of its own, which stands below libtorch: it may include everything but this one.
SOFTCUDA = "tests/testbed/softcuda/"


def confinement_problem(path, header):
    if str(path).startswith(SOFTCUDA):
        return f"{path} includes {header}, but softcuda knows nothing of shoal" if header.startswith("shoal/") else None
    best = max((prefix for prefix in CONFINED if header.startswith(prefix)), key=len, default=None)
    if best is None or any(str(path).startswith(place) for place in CONFINED[best]):
        return None
    return f"{path} includes <{header}>, which belongs to {', '.join(CONFINED[best]) or 'no file at all'}"


def problems_of(path, allowed):
    text = (ROOT / path).read_text()
    module = path.parts[1] if path.parts[0] == "shoal" else None
    for header in INCLUDE.findall(text):
        if problem := confinement_problem(path, header):
            yield problem
        if module is None:
            continue
        used = header.split("/")[1] if header.startswith("shoal/") else None
        if used and used != module and used not in allowed[module]:
            yield f"{path} includes {header}, but {module} may use only: {', '.join(sorted(allowed[module])) or 'nothing'}"
        if header.startswith(("app/", "tests/", "bench/")):
            yield f"{path} includes {header}: nothing in shoal/ knows {header.split('/')[0]}/"
        if row_of(module) < TORCH_FREE_ROWS and header.startswith(TORCH):
            yield f"{path} includes <{header}>, but {module} stands below the torch line"


def main():
    problems = []
    allowed = {}
    for directory in sorted(p for p in (ROOT / "shoal").iterdir() if p.is_dir()):
        module = directory.name
        if row_of(module) is None:
            problems.append(f"shoal/{module} has no row in {pathlib.Path(__file__).name}")
            continue
        allowed[module] = modules_of(module)
        for used in allowed[module]:
            if row_of(used) is None or row_of(used) >= row_of(module):
                problems.append(f"shoal/{module}/CMakeLists.txt uses {used}, which does not stand below {module}")
    files = [p.relative_to(ROOT) for top in ("shoal", "app", "tests", "bench", "cmake") for p in (ROOT / top).rglob("*")
             if p.suffix in (".h", ".cpp")]
    for path in sorted(files):
        if path.parts[0] != "shoal" or path.parts[1] in allowed:
            problems.extend(problems_of(path, allowed))
    for problem in problems:
        print(f"layers: {problem}", file=sys.stderr)
    print(f"layers: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
