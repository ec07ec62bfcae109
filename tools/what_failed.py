#!/usr/bin/env python3
"""Prints why tests failed in the last ctest run of each build tree: what GoogleTest and Python say of it, without the logs around.

    tools/what_failed.py BUILD_DIR...
"""
import pathlib
import re
import sys

FEW = 12  # lines of each failure, and of the end of a test that says nothing else
MOST = 10  # failures of one test


def failures_in(output):
    """What is said of each, as lists of lines."""
    lines = output.rstrip().split("\n")
    said = [lines[i:i + FEW] for i, line in enumerate(lines) if re.search(r"^\S+:\d+: Failure$|^Traceback |^FAILED\b|\bTimeout\b", line)]
    return said[:MOST] or [lines[-FEW:]]


def failed_tests(log):
    """Pairs of a test and its output."""
    for block in re.split(r"^(?=\d+/\d+ Test(?:ing)?: )", log, flags=re.M)[1:]:
        name = re.match(r"\d+/\d+ Test(?:ing)?: (\S+)", block)[1]
        if re.search(r"^Test (Failed|Timed Out)|^Test Timeout", block, re.M):
            yield name, re.split(r"^<end of output>", block, flags=re.M)[0]


def main():
    for build in map(pathlib.Path, sys.argv[1:]):
        log = build / "Testing/Temporary/LastTest.log"
        if not log.exists():
            continue
        for name, output in failed_tests(log.read_text(errors="replace")):
            print(f"\n==== {name} in {build} failed:")
            for said in failures_in(output):
                print("\n".join(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
