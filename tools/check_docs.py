#!/usr/bin/env python3
"""Fails when a document names a file that is not there, or has a block that does not say what it is: documents rot where nobody looks.

    check_docs.py

tools/fences.py has the info strings of blocks; tests/docs/run_documents.py runs those that are commands.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fences import blocks_of, problem_with  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
# `shoal/plan/mesh.h` and the like in running text; patterns, placeholders and build products are not files of the tree.
NAMED = re.compile(r"`((?:shoal|app|tests|tools|cmake|docs|configs|bench|examples|course)/[A-Za-z0-9_./-]+)`")
FENCED = re.compile(r"^ *(`{3,}).*?^ *\1`* *$", re.M | re.S)


def has_blocks_with_names(name):
    """Whether the blocks of a document follow tools/fences.py: pages for users do, records of decisions need not."""
    return name == "README.md" or (name.startswith(("docs/", "course/", "examples/")) and not name.startswith("docs/adr/"))


def problems_of(name):
    path = ROOT / name
    text = path.read_text()
    prose = FENCED.sub("", text)
    for target in LINK.findall(prose):
        if "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists():
            yield f"{name} links to {target}, which is not there"
    for target in NAMED.findall(prose):
        if "NAME" not in target and not (ROOT / target).exists():
            yield f"{name} names {target}, which is not there"
    if has_blocks_with_names(name):
        for block in blocks_of(text):
            problem = problem_with(block, lambda where: (ROOT / where).exists())
            if problem:
                yield f"{name}:{block.line}: a block {problem}"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    documents = [name for name in listed if (ROOT / name).exists()]
    problems = [problem for name in documents for problem in problems_of(name)]
    for problem in problems:
        print(f"documents: {problem}", file=sys.stderr)
    print(f"documents: {len(documents)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
