#!/usr/bin/env python3
"""Prints what was skipped in the last ctest run of a build tree, and fails when the list below does not allow it.

    tools/check_skips.py BUILD_DIR
"""
import pathlib
import re
import sys

# What a test prints as its reason, of the tests that may.
MAY_SKIP = {
    "cluster_test_supervisor": ["no right to make a control group with a memory limit"],
    "loader_test": ["allocations are not counted under sanitizers"],
    "dry_run_ranks_test": ["this processor has AVX-512 and no bf16"],
    "checkpoint_command_test": ["skipped=1"],  # under sanitizers, which take memory of their own
    "prepare_test": ["skipped="],  # without the corpora
    "tokenizer_oracles": ["no corpora at"],
    "tokenizer_training": ["no corpora at"],
}


def skips_in(log):
    """Pairs of a test and its reason: scripts print "skipped: REASON", GoogleTest the reason behind a line of its own."""
    for block in re.split(r"^(?=\d+/\d+ Testing: )", log, flags=re.M)[1:]:
        name = re.match(r"\d+/\d+ Testing: (\S+)", block)[1]
        reasons = re.findall(r"^\S+:\d+: Skipped\n(.*)", block, re.M)
        reasons += re.findall(r"^.*\bskipped:? (.*)", block, re.M)
        reasons += re.findall(r"^OK \((skipped=\d+)\)", block, re.M)  # Python's unittest
        if "\nTest Skipped." in block and not reasons:
            reasons = ["no reason was printed"]
        for reason in reasons:
            yield name, reason


def main():
    log = (pathlib.Path(sys.argv[1]) / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    wrong = 0
    for name, reason in skips_in(log):
        allowed = any(text in reason for text in MAY_SKIP.get(re.sub(r"_\d+of\d+$", "", name), []))
        print(f"skipped{'' if allowed else ', and must not be'}: {name}: {reason}")
        wrong += not allowed
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
