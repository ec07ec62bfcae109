#!/usr/bin/python3
"""docs/config.schema.json as an editor sees it: judged by a validator that is not ours."""

import glob
import json
import os
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error}; tools/deps.sh check installs it")
    sys.exit(77)

SOURCE = os.environ["SHOAL_SOURCE_DIR"]

RIGHT = [
    "",
    "version: 1",
    "parallel:",  # a section whose keys are all commented out
    "parallel: {dp_shard: auto}",
    "parallel: {dp_shard: 8}",
    "comm: {deadline: 1h30m, interface: 10.0.0.7}",
    "comm: {interface: 'fe80::1%eth0'}",
    "run: {name: gpt2-124m, seed: 18446744073709551615}",
    "log: {level: debug, all_ranks: true}",
]

WRONG = [  # and the key that is to blame
    ("version: 2", "version"),
    ("paralel: {tp: 1}", ""),
    ("parallel: {tpp: 1}", "parallel"),
    ("parallel: 8", "parallel"),
    ("parallel: {tp: 0}", "parallel.tp"),
    ("parallel: {tp: 100000}", "parallel.tp"),
    ("parallel: {tp: 1.5}", "parallel.tp"),
    ("parallel: {tp: two}", "parallel.tp"),
    ("parallel: {tp: }", "parallel.tp"),
    ("parallel: {dp_shard: all}", "parallel.dp_shard"),
    ("parallel: {dp_shard: 0}", "parallel.dp_shard"),
    ("run: {name: a/b}", "run.name"),
    ("run: {name: .hidden}", "run.name"),
    ("run: {directory: ''}", "run.directory"),
    ("run: {seed: -1}", "run.seed"),
    ("comm: {backend: telegraph}", "comm.backend"),
    ("comm: {deadline: 600}", "comm.deadline"),
    ("comm: {deadline: soon}", "comm.deadline"),
    ("comm: {deadline: 30s2m}", "comm.deadline"),
    ("comm: {interface: 0.0.0.0}", "comm.interface"),
    ("comm: {interface: '::'}", "comm.interface"),
    ("log: {all_ranks: maybe}", "log.all_ranks"),
    ("[log]", ""),
]


def main():
    with open(os.path.join(SOURCE, "docs/config.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []

    def check(name, text, blamed):
        errors = list(validator.iter_errors(yaml.safe_load(text)))
        found = sorted({".".join(map(str, error.absolute_path)) for error in errors})
        if found != blamed:
            failures.append(f"{name}: expected errors at {blamed}, got {found}")

    examples = glob.glob(os.path.join(SOURCE, "configs", "*.yaml"))
    if not examples:
        failures.append("configs/ holds no examples")
    for path in examples:
        with open(path, encoding="utf-8") as file:
            check(path, file.read(), [])
    for text in RIGHT:
        check(repr(text), text, [])
    for text, blamed in WRONG:
        check(repr(text), text, [blamed])

    print("\n".join(failures))
    print(f"{len(examples) + len(RIGHT)} right, {len(WRONG)} wrong, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
