#!/usr/bin/env python3
"""Fails when an example in a header is not compiled: an example that nobody compiles is wrong after a while.

An example is a paragraph of a header's comment that is set in, `//   like this`, and has a line that ends in a semicolon; what has
none is a picture, a table or an output. tests/headers/ has each example as code, behind a line that names the header:

    // shoal/plan/mesh.h
    TEST(HeaderExamples, Mesh) { ... }

Each line of the example stands in that code, in their order. Blanks, line breaks, comments and the semicolon at its end do not count,
and `...` stands for anything.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE_LINE = re.compile(r"\s*//   +(\S.*)")
SECTION = re.compile(r"^// ((?:shoal|app)/\S+\.h)$", re.MULTILINE)
TEXT_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//.*')


def bare(code):
    """Without comments and blanks."""
    return re.sub(r"\s", "", TEXT_OR_COMMENT.sub(lambda found: found.group(1) or "", code))


def example_of(header):
    """The lines of a header's examples, bare."""
    lines, paragraph = [], []
    for line in header.read_text().splitlines() + [""]:
        found = EXAMPLE_LINE.match(line)
        if found:
            paragraph.append(bare(found.group(1)))
            continue
        if any(code.endswith(";") for code in paragraph):
            lines += [code for code in paragraph if code]
        paragraph = []
    return lines


def first_missing(example, code):
    """The first line of an example that is not in the code behind those before it."""
    at = 0
    for line in example:
        for piece in line.rstrip(";").split("..."):
            at = code.find(piece, at)
            if at < 0:
                return line
            at += len(piece)
    return None


def main():
    files = [ROOT / name for name in
             subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                             "shoal/**.h", "app/**.h", "tests/headers/*.cpp"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()]
    compiled = {}
    for path in files:
        if path.suffix == ".cpp":
            parts = SECTION.split(path.read_text())
            compiled.update(zip(parts[1::2], map(bare, parts[2::2])))
    examples = {str(path.relative_to(ROOT)): example_of(path) for path in files if path.suffix == ".h" and path.exists()}
    examples = {name: example for name, example in examples.items() if example}
    problems = [f"tests/headers has code of {name}, which has no example" for name in compiled.keys() - examples.keys()]
    for name, example in examples.items():
        if name not in compiled:
            problems.append(f"{name} has an example that tests/headers does not compile")
        elif (line := first_missing(example, compiled[name])) is not None:
            problems.append(f"{name} has a line that tests/headers does not compile, or not there: {line}")
    for problem in sorted(problems):
        print(f"examples: {problem}", file=sys.stderr)
    print(f"examples: {len(examples)} headers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
