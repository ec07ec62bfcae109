#!/usr/bin/env python3
"""Fails when a comment begins with "Of": a comment begins with the noun it is about."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Texts come first, so that a // inside of one is no comment.
TEXT_OR_COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(?P<comment>//[^\n]*)',
                             re.DOTALL)


def lines_that_begin_with_of(code):
    """The first line of a block of comments, and trailing comments; not the lines that go on with a sentence."""
    block_ends = 0
    for found in TEXT_OR_COMMENT.finditer(code):
        if found["comment"] is None:
            continue
        line = code.count("\n", 0, found.start()) + 1
        alone = not code[code.rfind("\n", 0, found.start()) + 1:found.start()].strip()
        goes_on = alone and line == block_ends + 1
        if not goes_on and re.match(r"//+\s*Of\b", found["comment"]):
            yield line
        if alone:
            block_ends = line


def main():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cpp"],
                           cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in names if (ROOT / name).exists()]
    problems = [f"{name}:{line}" for name in names for line in lines_that_begin_with_of((ROOT / name).read_text())]
    for problem in problems:
        print(f"comments: {problem} begins with \"Of\"", file=sys.stderr)
    print(f"comments: {len(names)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
