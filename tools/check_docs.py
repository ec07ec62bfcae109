#!/usr/bin/env python3
"""Fails when a document names a file that is not there: documents rot where nobody looks."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)\)")
# `shoal/plan/mesh.h` and the like in running text; patterns, placeholders and build products are not files of the tree.
NAMED = re.compile(r"`((?:shoal|app|tests|tools|cmake|docs|configs|bench|examples)/[A-Za-z0-9_./-]+)`")


def main():
    documents = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                               cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    problems = []
    for name in documents:
        path = ROOT / name
        text = path.read_text()
        for target in LINK.findall(text):
            if "://" not in target and not (path.parent / target).exists():
                problems.append(f"{name} links to {target}, which is not there")
        for target in NAMED.findall(text):
            if "NAME" not in target and not (ROOT / target).exists():
                problems.append(f"{name} names {target}, which is not there")
    for problem in problems:
        print(f"documents: {problem}", file=sys.stderr)
    print(f"documents: {len(documents)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
